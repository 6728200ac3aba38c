"""The terminal: log messages, characters that it lacks, and the exit status of Ctrl-C."""

from __future__ import annotations

import io
import logging
import sys

import click

CTRL_C = 130  # the exit status that shells report for a command stopped by Ctrl-C


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def log_to_stderr(log: logging.Logger) -> None:
    """Print the messages of a log, from level INFO up, as plain lines."""
    log.setLevel(logging.INFO)
    log.handlers = [_ToStderr()]


def use_any_console() -> None:
    """Print the code of a character that the console can't show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
