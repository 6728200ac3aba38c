"""What every command does with the terminal."""

from __future__ import annotations

import io
import logging
import sys

import click

CTRL_C = 130  # the exit status that shells give to a command stopped by Ctrl-C


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def log_to_stderr(log: logging.Logger) -> None:
    """Show what the log says from level INFO on, as plain lines."""
    log.setLevel(logging.INFO)
    log.handlers = [_ToStderr()]


def use_any_console() -> None:
    """Let a console that has not all characters print their codes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
