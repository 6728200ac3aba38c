"""Make data/tang_poems.txt, the Tang poems of the course, or report on its content."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

try:
    import click
except ImportError:
    sys.exit(
        "Run this with the Python for which `make lab` or `pip install -e .[course]` installed packages."
    )

from bpe._files import refuse_unwritable, write_atomically
from bpe._visible import visible
from bpe.commands.console import CTRL_C, give, log_to_stderr, say, use_any_console
from bpe.corpora import TANG_POEMS, data_folder, poem_sources, poems
from bpe.corpora.download import fetching, remove_remains

FETCHED = ("auto", "github", "npm")

VARIANTS = """\
OpenCC's t2s maps traditional characters to simplified ones and nothing else. Old variants stay as they are:
the most frequent are 疎 (now 疏), 鴈 (now 雁) and 劒 (now 剑). So do 著 and 沈, though most verses would have
着 and 沉 today: both are also standard characters, as in 著名 (famous) and in the surname 沈."""


def make(output: Path, source: str) -> poems.Selection:
    """Get the raw files, choose the poems, and write them."""
    poems.to_simplified([])  # fails without OpenCC, before anything is downloaded
    output.parent.mkdir(parents=True, exist_ok=True)
    refuse_unwritable(output)  # likewise
    poem_sources.get_raw_files(source)
    selection = poems.select(poems.read_poems(poem_sources.raw_paths()))
    write_atomically(output, poems.to_text(selection.poems))
    return selection


def select_again() -> poems.Selection | None:
    """Choose the poems from the kept raw files. Returns None if some are missing."""
    return None if poem_sources.missing() else poems.select(poems.read_poems(poem_sources.raw_paths()))


def report(output: Path, selection: poems.Selection | None) -> None:
    """Print the figures of the prepared file, and how many poems were left out for each reason."""
    content = output.read_bytes()
    try:
        kept = poems.from_text(content)
    except ValueError as error:
        raise ValueError(f"{output} is damaged: {error}. --force makes it again.") from error
    give(f"{output}\n")
    give(_describe_selection(selection, kept))
    give(_describe_figures(poems.figures(kept)))
    give(_describe_sha256(content))
    give("\n".join(["The first three poems:", *kept[:3], "", VARIANTS]))


def _row(label: str, number: int, indent: int = 0) -> str:
    return f"{' ' * indent + label:<36}{number:>10,}"


def _describe_selection(selection: poems.Selection | None, kept: list[str]) -> str:
    if selection is None:
        return (
            f"The number of poems left out is unknown without the raw files in {poem_sources.raw_folder()}."
        )
    if selection.poems != kept:
        return "These are not the poems that today's rules and OpenCC choose from the raw files."
    rows = [
        _row("poems read", selection.read),
        _row("left out", selection.irregular + selection.duplicates),
        _row("irregular (another form)", selection.irregular, indent=2),
        _row("duplicates", selection.duplicates, indent=2),
    ]
    return "\n".join(rows)


def _describe_figures(figures: poems.Figures) -> str:
    rows = [
        _row("poems kept", figures.poems),
        *(_row(form, figures.by_form[form], indent=2) for form in poems.FORMS),
        *([_row("irregular (another form)", figures.of_no_form, indent=2)] if figures.of_no_form else []),
        _row("characters, without newlines", figures.characters),
        _row("different characters", figures.different_characters),
    ]
    return "\n".join(rows)


def _describe_sha256(content: bytes) -> str:
    found = hashlib.sha256(content).hexdigest()
    if found == poems.TEXT_SHA256:
        return f"SHA-256 {found}, as expected\n"
    return (
        f"Warning: SHA-256 {found}, expected {poems.TEXT_SHA256}.\n"
        f"OpenCC {poems.OPENCC_VERSION} makes the expected file; the version installed here is "
        f"{poems.installed_opencc()}. Another file changes the figures of the course.\n"
    )


def _check_source(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value in FETCHED or Path(value).exists():
        return value
    raise click.BadParameter(f"{value!r} is neither {', '.join(FETCHED)} nor an existing file or folder.")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--source",
    default="auto",
    callback=_check_source,
    show_default=True,
    metavar="auto|github|npm|PATH",
    help="Where to get the raw files, unless they were fetched before. auto: GitHub, or npm if GitHub "
    "can't be reached. PATH: a checkout of chinese-poetry/chinese-poetry, its unpacked npm package, "
    "the folder of its JSON files, or a .tgz or .zip of one of these.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The file to make.  [default: {TANG_POEMS} in the data folder]",
)
@click.option("--force", is_flag=True, help="Make the file again even if it exists.")
def main(source: str, output: Path | None, force: bool) -> None:
    """Make tang_poems.txt: 35,135 Tang poems in simplified characters, one a line.

    Then print what is in the file. If it exists, only print that. How many poems were left out, and why, is
    counted in the raw files, which are kept in downloads/chinese-poetry in the data folder. The data folder
    is data/ here, or the folder that the environment variable BPE_DATA names.
    """
    use_any_console()
    log_to_stderr(poem_sources.log)
    try:
        output = output or data_folder() / TANG_POEMS
        if output.exists() and not output.is_file():
            raise click.UsageError(visible(f"--output: {output} exists and is not a file."))
        if output.exists() and not force:
            say(f"{output} exists, so this only reports on it; --force makes it again.", err=True)
            remove_remains()
            selection = select_again()
        else:
            with fetching(poem_sources.log):
                made_meanwhile = output.exists() and not force  # by the run that this one waited for
                selection = select_again() if made_meanwhile else make(output, source)
        report(output, selection)
    except KeyboardInterrupt:
        say("Stopped. Fetched files are kept: the same command continues from there.", err=True)
        sys.exit(CTRL_C)
    except BrokenPipeError:
        raise  # the reader of the report closed the pipe; click ends quietly
    except OSError as error:
        raise click.ClickException(
            visible(f"{error.filename or output}: {error.strerror or error}")
        ) from error
    except (poem_sources.SourceError, ImportError, ValueError) as error:
        raise click.ClickException(visible(str(error))) from error


if __name__ == "__main__":
    main()
