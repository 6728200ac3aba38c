"""Make data/tang_poems.txt, the Tang poems that the course works with, or report what is in it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

try:
    import click
except ImportError:
    sys.exit("This needs what `make lab` or `pip install -e .[course]` installs: run it with that Python.")

from bpe._files import write_atomically
from bpe.commands.console import CTRL_C, log_to_stderr, use_any_console
from bpe.corpora import TANG_POEMS, data_folder, poems
from bpe.corpora import poem_sources as sources

FETCHED = ("auto", "github", "npm")

VARIANTS = """\
Variants such as 鴈 (now 雁) and 皷 (now 鼓) stay as they are: OpenCC's t2s maps traditional characters to
simplified ones and nothing else."""


def make(output: Path, source: str) -> poems.Selection:
    """Get the raw files, choose the poems, and write them."""
    poems.to_simplified([])  # where OpenCC is missing this fails, and rather now than after the download
    sources.get_raw_files(source)
    selection = poems.select(poems.read_poems(sources.raw_paths()))
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, poems.to_text(selection.poems))
    return selection


def select_again() -> poems.Selection | None:
    """What the raw files give that were kept; None when they aren't complete."""
    return None if sources.missing() else poems.select(poems.read_poems(sources.raw_paths()))


def report(output: Path, selection: poems.Selection | None) -> None:
    """Print what is in the finished file, and how many poems were left out, and why."""
    content = output.read_bytes()
    try:
        kept = poems.from_text(content)
    except ValueError as error:
        raise click.ClickException(f"{output} is damaged: {error}. --force makes it anew.") from error
    click.echo(f"{output}\n")
    click.echo(_left_out(selection, kept))
    click.echo(_figures(poems.figures(kept)))
    click.echo(_sha256(content))
    click.echo("\n".join(["The first three poems:", *kept[:3], "", VARIANTS]))


def _row(label: str, number: int, indent: int = 0) -> str:
    return f"{' ' * indent + label:<36}{number:>10,}"


def _left_out(selection: poems.Selection | None, kept: list[str]) -> str:
    if selection is None:
        return f"How many poems were left out is not known without the raw files in {sources.raw_folder()}."
    if selection.poems != kept:
        return "These are not the poems that the raw files give with the rules and the OpenCC of today."
    rows = [
        _row("poems read", selection.read),
        _row("left out", selection.irregular + selection.duplicates),
        _row("not regular, of another form", selection.irregular, indent=2),
        _row("duplicates", selection.duplicates, indent=2),
    ]
    return "\n".join(rows)


def _figures(figures: poems.Figures) -> str:
    rows = [
        _row("poems kept", figures.poems),
        *(_row(form, figures.by_form[form], indent=2) for form in poems.FORMS),
        *([_row("not regular, of another form", figures.of_no_form, indent=2)] if figures.of_no_form else []),
        _row("characters, without line ends", figures.characters),
        _row("different characters", figures.different_characters),
    ]
    return "\n".join(rows)


def _sha256(content: bytes) -> str:
    found = hashlib.sha256(content).hexdigest()
    if found == poems.TEXT_SHA256:
        return f"SHA-256 {found}, as expected\n"
    return (
        f"Warning: SHA-256 {found}, expected {poems.TEXT_SHA256}.\n"
        f"That is the file which OpenCC {poems.OPENCC_VERSION} makes; the version installed here is "
        f"{poems.installed_opencc()}. With another file the figures in the course are other ones.\n"
    )


def _source(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value in FETCHED or Path(value).exists():
        return value
    raise click.BadParameter(f"{value!r} is none of {', '.join(FETCHED)}, and no file or folder.")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--source",
    default="auto",
    callback=_source,
    show_default=True,
    metavar="auto|github|npm|PATH",
    help="Where the raw files come from, unless they were fetched before. auto: GitHub, and npm where GitHub "
    "can't be reached. PATH: a checkout of chinese-poetry/chinese-poetry, its npm package unpacked, "
    "the folder of its JSON files, or a .tgz or .zip of one of these.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The file to make.  [default: {TANG_POEMS} in the data folder]",
)
@click.option("--force", is_flag=True, help="Make the file anew although it is there.")
def main(source: str, output: Path | None, force: bool) -> None:
    """Make tang_poems.txt: 35,135 Tang poems in simplified characters, one a line.

    Then, and when the file was there already, print what is in it. How many poems were left out, and why,
    is counted in the raw files; they are kept in downloads/chinese-poetry in the data folder. The data
    folder is data/ here, or what the environment variable BPE_DATA names.
    """
    use_any_console()
    log_to_stderr(sources.log)
    try:
        output = output or data_folder() / TANG_POEMS
        if output.exists() and not output.is_file():
            raise click.UsageError(f"--output: {output} is there and is no file.")
        if output.exists() and not force:
            click.echo(f"{output} is there already, so it is only reported; --force makes it anew.", err=True)
            report(output, select_again())
        else:
            report(output, make(output, source))
    except KeyboardInterrupt:
        click.echo("Stopped. What was fetched is kept: the same command goes on from there.", err=True)
        sys.exit(CTRL_C)
    except BrokenPipeError:
        raise  # the reader of the report has seen enough; click ends quietly
    except OSError as error:
        raise click.ClickException(f"{error.filename or output}: {error.strerror or error}") from error
    except (sources.SourceError, ImportError, ValueError) as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
