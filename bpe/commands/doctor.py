"""`doctor`: what a report of a bug should say about a machine."""

from __future__ import annotations

import click

from bpe.checks.doctor import findings, lines, status, to_json
from bpe.commands.console import give


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a list of JSON objects instead of lines.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Print what this machine has of all that the course uses, to find out what is missing.

    Paste the output into the report of a bug. It holds no passwords, and `~` instead of your home folder. If
    a package is so broken that this command does not start, `python -m bpe.checks.doctor` prints the same.

    Exit status: 0 if the course can be used, 1 if something that it needs is missing.
    """
    found = findings()
    give(to_json(found) if as_json else "\n".join(lines(found)))
    context.exit(status(found))
