"""The command line: `python -m bpe`, also installed as the command `bpe`."""

from __future__ import annotations

from typing import Any

import click

from bpe._visible import visible
from bpe.commands.compare import compare
from bpe.commands.compile import compile_engine
from bpe.commands.console import CTRL_C, say, use_any_console
from bpe.commands.decode import decode
from bpe.commands.doctor import doctor
from bpe.commands.encode import encode
from bpe.commands.encode_splits import encode_splits
from bpe.commands.fingerprint import fingerprint
from bpe.commands.inspect import inspect
from bpe.commands.minigpt import minigpt
from bpe.commands.train import train
from bpe.commands.vocabularies import vocabularies
from bpe.commands.wikitext2 import wikitext2


class _Commands(click.Group):
    """A group that reports the errors of the module as messages, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("\nStopped. You can give the same command again.", err=True)
            ctx.exit(CTRL_C)
        except BrokenPipeError:
            raise  # nobody reads the output any more; click ends quietly
        except click.ClickException as error:
            error.message = visible(error.message)  # type: ignore[misc]
            raise
        except (OSError, ImportError, ValueError, MemoryError, RecursionError) as error:
            raise click.ClickException(visible(_describe(error))) from error


def _describe(error: Exception) -> str:
    """Return what went wrong in a line, and what to do about it."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, ImportError) and error.name:
        return f"{error}; install it with: python -m pip install {error.name}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory{f': {error}' if str(error) else ''}. Try a smaller text or model."
    return str(error)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    commands=[
        train,
        encode,
        decode,
        inspect,
        compare,
        fingerprint,
        encode_splits,
        minigpt,
        vocabularies,
        compile_engine,
        wikitext2,
        doctor,
    ],
)
@click.version_option(package_name="bpe-course", message="bpe-course %(version)s")
def main() -> None:
    """Train tokenizers by byte pair encoding, use, inspect and compare them.

    \b
    Examples:
      python -m bpe train book.txt --vocab-size 1000 --output tokenizer.json
      python -m bpe encode tokenizer.json --text "the cat"
      python -m bpe inspect tokenizer.json --text "the cat"

    Exit status: 0 for success, 1 for a failure, 2 for wrong usage, 130 for Ctrl-C.
    """
    use_any_console()


if __name__ == "__main__":
    main()
