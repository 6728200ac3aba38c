"""Run a command while no other one runs that was started with the same file.

    python .ci/alone.py FILE COMMAND ARGUMENT…

Two `make` at once would otherwise build one .venv together. The lock is the command's own, and that of every
program it starts: the system frees it when the last of them ends, however it ends, so it is never stale. This
file needs nothing but the standard library, since it runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys


def run_alone(file: str, command: list[str]) -> None:
    """Wait for the lock of the file, then become the command."""
    lock = os.open(file, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another make is setting up the course: waiting for it.", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
    os.set_inheritable(lock, True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        run_alone(sys.argv[1], sys.argv[2:])
    sys.exit(130)
