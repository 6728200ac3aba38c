"""The time limit of a check, in processor time: a machine that sleeps or is busy fails no right answer."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

LIMIT = 30.0  # seconds of processor time for a check; the longest of ours takes about one
TRIES = 3  # interrupts of a check that does not end, a second apart


class TooSlowError(BaseException):
    """The check took longer than LIMIT. It is not an Exception, which the learner's code might catch."""


class Clock:
    """Raise TooSlowError in the main thread after LIMIT, if it is the one that started the clock.

    Python interrupts no other thread, and the main one only between two of its own steps: nothing stops
    `sum(itertools.count())`. What waits without computing, as `input()` does, is not stopped either.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = self.overdue = False
        self.interrupted = False  # by Ctrl-C
        self.stopped = threading.Event()
        self.sending = threading.Lock()
        self.previous: Any = None

    def start(self) -> None:
        with suppress(ValueError, RuntimeError):  # not the main thread; no threads, as in a browser
            self.previous = signal.signal(signal.SIGINT, self.handle)
            threading.Thread(target=self.wait, daemon=True).start()

    def stop(self) -> None:
        self.stopped.set()
        if self.previous is not None:
            with self.sending:  # what was sent before arrives here, where it does nothing
                signal.signal(signal.SIGINT, self.previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT: ours if the check is overdue, otherwise Ctrl-C, for the handler of before."""
        if not self.overdue:
            self.interrupted = True
            if callable(self.previous):
                self.previous(number, frame)
        elif not self.over:
            raise TooSlowError

    def wait(self) -> None:
        """Interrupt the check when its time is up; if its code catches everything, say so."""
        end = time.process_time() + LIMIT
        while (left := end - time.process_time()) > 0:  # less has passed if the check had to wait
            if self.stopped.wait(max(left, 0.001)):
                return
        for _ in range(TRIES):
            with self.sending:
                if self.over:
                    return
                self.overdue = True
                _interrupt()
            if self.stopped.wait(1.0):
                return
        print(f"{self.name}: your code does not end and cannot be interrupted. Restart the kernel.")


def _interrupt() -> None:
    """Send SIGINT to the main thread: for real where possible, which also ends a `time.sleep`."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
