"""The terminal: messages and results, characters that it lacks or obeys, and the exit status of Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import sys
from typing import IO

import click

from bpe._visible import visible

CTRL_C = 130  # the exit status that shells report for a command stopped by Ctrl-C


def say(message: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a message, with signs for what is invisible in it; if the stream is closed, nobody reads it.

    Raises OSError if standard output can't be written; an error stream that can't be stops nothing.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        with contextlib.suppress(*[OSError] if err else []):
            _echo(visible(message), stream, nl)


def give(result: str | bytes, *, nl: bool = True, styled: bool = False) -> None:
    """Print what a command was asked for: exactly, but on a terminal with signs for what is invisible.

    styled: the result holds the escape sequences of `click.style`, and the rest is visible already.
    Raises OSError if standard output is closed or can't be written.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "It is closed, so there is nowhere to print the result", "standard output")
    if sys.stdout.isatty() and not styled:
        text = result if isinstance(result, str) else result.decode("utf-8", "backslashreplace")
        result = visible(text, keep=" \n\t")
    _echo(result, sys.stdout, nl)


def _echo(content: str | bytes, stream: IO[str], nl: bool = True) -> None:
    try:
        click.echo(content, stream, nl)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record), err=True)


def log_to_stderr(log: logging.Logger) -> None:
    """Print the messages of a log, from level INFO up, as plain lines."""
    log.setLevel(logging.INFO)
    log.handlers = [_ToStderr()]


def use_any_console() -> None:
    """Print the code of a character that the console can't show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
