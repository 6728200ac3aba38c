"""Run a command of the course, and disturb it when it touches a file in a folder.

    python disturbed.py HOW FOLDER PROGRAM ARGUMENTS…

HOW: "count" says at the end, in FOLDER.count, how often it did; "kill:SIGNAL:N" sends the signal to itself at
the N-th time; "slow:SEED" waits a little, at random, each time.
PROGRAM: "bpe"; "poems" for prepare_poems.py with four small files in the place of the 58; "vocabularies" for
bpe with three small files in the place of GPT-2's.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

EVENTS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.link",
    "os.truncate",
    "os.listdir",
    "os.scandir",
}

# Poems of four files, which the rules keep but for one.
RAW = {
    f"poet.tang.{number}.json": json.dumps([{"paragraphs": [poem]}]).encode()
    for number, poem in enumerate(
        [
            "牀前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。",
            "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。",
            "春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。",
            "前不見古人，後不見來者。念天地之悠悠，獨愴然而涕下。",
        ]
    )
}


def disturb(how: str, folder: str) -> None:
    kind, _, rest = how.partition(":")
    seen = 0
    kill, moment, rng = 0, 0, random.Random(rest)
    if kind == "kill":
        kill, moment = map(int, rest.split(":"))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in EVENTS or not any(folder in str(argument) for argument in arguments[:2]):
            return
        seen += 1
        if kind == "slow":
            time.sleep(rng.choice([0, 0, 0.002, 0.01, 0.04]))
        elif kind == "kill" and seen == moment:
            os.kill(os.getpid(), kill)

    sys.addaudithook(hook)
    if kind == "count":
        atexit.register(lambda: Path(f"{folder}.count").write_text(str(seen), encoding="ascii"))


def small_poems() -> None:
    from bpe.corpora import poem_sources

    digests = {name: hashlib.sha256(content).hexdigest() for name, content in RAW.items()}
    poem_sources.manifest = lambda: digests


def small_vocabulary() -> None:
    from bpe import pretrained

    contents = {f"gpt2_{number}": bytes([number]) * 20_000 for number in range(3)}
    known = pretrained.VOCABULARIES["gpt2"]
    files = tuple(
        known.files[0]._replace(name=name, sha256=hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    )
    pretrained.VOCABULARIES["gpt2"] = known._replace(files=files)
    pretrained._from_installed = lambda file: pretrained._verify(contents[file.name], file)


def main() -> None:
    how, folder, program, *arguments = sys.argv[1:]
    if program == "poems":
        small_poems()
        import prepare_poems

        run = prepare_poems.main
    else:
        from bpe.__main__ import main as run

        if program == "vocabularies":
            small_vocabulary()
    disturb(how, folder)
    sys.argv[1:] = arguments
    run(prog_name=program)


if __name__ == "__main__":
    main()
