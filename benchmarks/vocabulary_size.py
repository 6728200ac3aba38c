"""The effect of the vocabulary size on WikiText-2; chapter 6 shows the result.

    python benchmarks/vocabulary_size.py

For each size: the time that training takes, the number of tokens in each text, the number of rare tokens in
the vocabulary, and the number of tokens when the merges were learned from the validation text itself. Takes a
few minutes and writes data/results/vocabulary_size.json.
"""

from __future__ import annotations

import platform
import time
from collections import Counter

from bpe import BPETokenizer, corpora
from bpe.fast import choose_engine
from bpe.minigpt import results

SIZES = (300, 500, 1_000, 2_000, 8_000)
CHARACTERS = 900_000  # taken from the beginning of a split
RARE = 10  # a token that occurs less often is rare


def main() -> None:
    texts = {split: corpora.wikitext2(split) for split in corpora.WIKITEXT2_SPLITS}
    base = sorted(set().union(*texts.values()))
    prefix = texts["train"][:CHARACTERS]

    def train(text: str, size: int) -> BPETokenizer:
        return BPETokenizer.train(text, size, alphabet="characters", base_tokens=base, progress=False)

    # The merges of a smaller vocabulary are the first merges of a larger one.
    from_valid = train(texts["valid"][:CHARACTERS], max(SIZES))

    rows = []
    for size in SIZES:
        start = time.process_time()
        tokenizer = train(prefix, size)
        seconds = time.process_time() - start
        in_prefix = Counter(tokenizer.encode(prefix))
        flattered = BPETokenizer(from_valid.vocabulary[:size], from_valid.merges[: size - len(base)])
        rows.append(
            {
                "vocab_size": size,
                "seconds": round(seconds, 2),
                "train_tokens": in_prefix.total(),
                "valid_tokens": len(tokenizer.encode(texts["valid"])),
                "test_tokens": len(tokenizer.encode(texts["test"])),
                "rare_tokens": sum(in_prefix[i] < RARE for i in range(len(base), size)),
                "valid_tokens_with_merges_from_valid": len(flattered.encode(texts["valid"])),
                "test_tokens_with_merges_from_valid": len(flattered.encode(texts["test"])),
                "fingerprint": tokenizer.fingerprint,
            }
        )
        print(*rows[-1].values())

    path = results.write(
        "vocabulary_size",
        {
            "command": "python benchmarks/vocabulary_size.py",
            "corpus": f"WikiText-2, cleaned; merges from the first {CHARACTERS:,} characters of train",
            "characters": {"train": CHARACTERS, "valid": len(texts["valid"]), "test": len(texts["test"])},
            "base_tokens": len(base),
            "rare": f"new tokens that occur fewer than {RARE} times in the training text, encoded",
            "seconds": f"processor time of training, engine {choose_engine('auto', CHARACTERS)}",
            "python": platform.python_version(),
            "machine": f"{platform.system()}, {platform.machine()}, one core",
            "rows": rows,
        },
    )
    print(path)


if __name__ == "__main__":
    main()
