"""`wikitext2`: prepare WikiText-2, or report what is prepared."""

from __future__ import annotations

from pathlib import Path

import click

from bpe import corpora
from bpe.commands.console import give, log_to_stderr, say
from bpe.corpora import wikitext, wikitext_sources
from bpe.corpora.download import SourceError, fetching, remove_remains


@click.command()
@click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with the files of the three splits (.txt, .tokens or .parquet), instead of the hub.",
)
@click.option("--force", is_flag=True, help="Make the files again even if they exist.")
def wikitext2(source: Path | None, force: bool) -> None:
    """Make wikitext2/{train,valid,test}.txt in the data folder: WikiText-2, cleaned.

    The text comes from the Hugging Face hub, through the package datasets, and is refused if it is not the
    text the course expects; a text from --source gets a warning instead. The command then prints what is in
    the files. If they exist, it only prints that. The data folder is data/ of the course, or the folder that
    the environment variable BPE_DATA names.

    \b
    Examples:
      python -m bpe wikitext2
      python -m bpe wikitext2 --source downloads/wikitext-2
    """
    log_to_stderr(log := wikitext_sources.log)
    wikitext.repair(log)
    if force or corpora.missing_files("wikitext2"):
        with fetching(log):
            if force or corpora.missing_files("wikitext2"):  # another run may have made them
                _prepare(source)
    else:
        say("The files exist, so this only reports on them; --force makes them again.", err=True)
        remove_remains()
    _report()


def _prepare(source: Path | None) -> None:
    try:
        raw = wikitext_sources.from_folder(source) if source else wikitext_sources.from_hub()
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    wikitext.write(raw, checked=source is None)


def _report() -> None:
    texts = {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    figures = {split: wikitext.figures(text) for split, text in texts.items()}
    give(f"{'split':<7}{'characters':>12}{'different':>11}{'lines':>9}{'titles':>8}  file")
    for split, (characters, different, lines, titles) in figures.items():
        path = corpora.wikitext2_path(split)
        give(f"{split:<7}{characters:>12,}{different:>11,}{lines:>9,}{titles:>8,}  {path}")
    give(f"Different characters in all: {len(set().union(*texts.values())):,}")
    if all(wikitext.is_expected(split, text) for split, text in texts.items()):
        articles = ", ".join(f"{number} in {split}" for split, number in wikitext.ARTICLES.items())
        give(f"As expected. Articles: {articles}; the other lines like titles are list items.")
    else:
        give("Warning: the figures in the course come from another text.")
    give(f"Licence: {wikitext.LICENCE}\nCite: {wikitext.CITATION}")
