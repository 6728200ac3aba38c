"""`wikitext2`: prepare WikiText-2, or report what is prepared."""

from __future__ import annotations

from pathlib import Path

import click

from bpe import corpora
from bpe.commands.console import log_to_stderr
from bpe.corpora import wikitext, wikitext_sources
from bpe.corpora.download import SourceError


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
    if wikitext.is_prepared() and not force:
        click.echo("The files exist, so this only reports on them; --force makes them again.", err=True)
    else:
        _prepare(source)
    _report()


def _prepare(source: Path | None) -> None:
    log_to_stderr(wikitext_sources.log)
    try:
        raw = wikitext_sources.from_folder(source) if source else wikitext_sources.from_hub()
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    wikitext.write(raw, check=source is None)


def _report() -> None:
    texts = {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    figures = {split: wikitext.figures(text) for split, text in texts.items()}
    click.echo(f"{'split':<7}{'characters':>12}{'different':>11}{'lines':>9}{'titles':>8}  file")
    for split, (characters, different, lines, titles) in figures.items():
        path = corpora.wikitext2_path(split)
        click.echo(f"{split:<7}{characters:>12,}{different:>11,}{lines:>9,}{titles:>8,}  {path}")
    click.echo(f"Different characters in all: {len(set().union(*texts.values())):,}")
    if figures == wikitext.EXPECTED:
        articles = ", ".join(f"{number} in {split}" for split, number in wikitext.ARTICLES.items())
        click.echo(f"As expected. Articles: {articles}; the other lines like titles are list items.")
    else:
        click.echo("Warning: the figures in the course come from another text.")
    click.echo(f"Licence: {wikitext.LICENCE}\nCite: {wikitext.CITATION}")
