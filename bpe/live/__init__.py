"""Live parts of a page: type a text and see its tokens, step through merges, grow the trees of a word.

Each is one element of HTML with its CSS and JavaScript inside (`live.css`, `live.js`). It needs neither a
kernel nor a network, so it works in JupyterLab, in an exported page and on a site; where no script runs, as
on GitHub, a picture of the example stays. The page encodes with the tokenizer's own merges and gives the
same ids.

Unicode: JavaScript's `\\p{L}` is that of the browser's Unicode version, and its `\\s` and `\\d` mean
something else than those of the package `regex`. So the classes of characters that a pattern uses are
written out in the element, as `regex` has them, in 12 kB at most for a pattern of ours. Ids don't depend on
the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from bpe._validate import check_integer, refuse_surrogates
from bpe.bytepair import BPETokenizer
from bpe.live.element import LARGEST, Element
from bpe.live.packing import Classes, pack_tokenizer, to_string
from bpe.live.stepping import find_ends, rows_after, take_steps
from bpe.subwords.unigram import Unigram
from bpe.tokenizer import Token, Tokenizer

MOST_PICTURED = 100  # tokens of a row in the picture of `steps`
MOST_STEPS = 200  # merges; and characters of the text, times ten
EXAMPLE = "The moon shines bright: 床前明月光 🌕"


def explorer(
    *tokenizers: Tokenizer | Mapping[str, Tokenizer], text: str = EXAMPLE, kernel: bool = False
) -> Any:
    """Show a text field and, below it, the tokens of what one types, a row for each tokenizer.

    tokenizers: each a tokenizer, or {label: tokenizer}. The page can encode with BPETokenizer, CharTokenizer
    and Unigram.
    text: what the field holds at first; also the picture that stays where no script runs. Special tokens are
    ordinary text.
    kernel: let the kernel encode as one types, with any tokenizer, real vocabularies too. This needs
    ipywidgets, and an exported page shows nothing of it.

    Returns an object that a notebook shows. Raises ValueError for a tokenizer that the page can't run, for
    more than 300 kB in all, and for a text that can't be encoded; TypeError for what is not a tokenizer.
    """
    labelled = _label(tokenizers)
    refuse_surrogates(text)
    if kernel:
        from bpe.live.kernel import make_widget

        return make_widget(labelled, text)
    classes = Classes()
    packed = [pack_tokenizer(tokenizer, label, classes) for label, tokenizer in labelled.items()]
    rows = {label: _tokens(tokenizer, text) for label, tokenizer in labelled.items()}
    data = {"text": text, "tokenizers": packed, "classes": classes.packed()}
    return _check_size(Element("explorer", data, {_count(label, row): row for label, row in rows.items()}))


def steps(
    source: BPETokenizer | str, text: str | None = None, *, num_merges: int = 50, **options: Any
) -> Element:
    """Show a slider over merges: the tokens of a text, its pairs, the tie, and the vocabulary so far.

    source: a training text, or a tokenizer that is trained already.
    text: what is shown in tokens and counted; by default the training text. Merges that were learned from
    another text are shown as such.
    num_merges: at most so many, and at most 200.
    options: of `BPETokenizer.train`, for a training text, such as `pattern="gpt2"`.

    Raises ValueError for a text of over 2,000 characters, and as `BPETokenizer.train`.
    """
    num_merges = check_integer(num_merges, "num_merges", least=1)
    if num_merges > MOST_STEPS:
        raise ValueError(f"a slider over {num_merges:,} merges is too long: take at most {MOST_STEPS}")
    if isinstance(source, str):
        text = source if text is None else text
        source = _train(source, num_merges, options)
    if not isinstance(source, BPETokenizer):
        raise TypeError(f"give a training text or a BPETokenizer, not {type(source).__name__}")
    if text is None:
        raise ValueError("steps(tokenizer, text) needs a text")
    refuse_surrogates(text)
    if len(text) > 10 * MOST_STEPS:
        raise ValueError(f"a text of {len(text):,} characters is too long: take at most {10 * MOST_STEPS:,}")
    return _check_size(
        Element("steps", _pack_steps(source, text, num_merges), _picture_steps(source, text, num_merges))
    )


def trees(tokenizer: BPETokenizer, word: str = "tokenization") -> Element:
    """Show a field for a word and, below it, the trees of the merges that made its tokens.

    word: what the field holds at first. Raises ValueError as `explorer`.
    """
    if not isinstance(tokenizer, BPETokenizer):
        raise TypeError(f"trees are made of merges: give a BPETokenizer, not {type(tokenizer).__name__}")
    return _show_word("trees", tokenizer, word)


def lattice(tokenizer: Unigram, word: str = "tokenization") -> Element:
    """Show a field for a word and, below it, all ways to cut it into pieces; the best one is thick.

    word: what the field holds at first. Raises ValueError as `explorer`.
    """
    if not isinstance(tokenizer, Unigram):
        raise TypeError(f"a lattice is made of pieces: give a Unigram, not {type(tokenizer).__name__}")
    return _show_word("lattice", tokenizer, word)


def _show_word(name: str, tokenizer: Tokenizer, word: str) -> Element:
    refuse_surrogates(word)
    classes = Classes()
    packed = [pack_tokenizer(tokenizer, "", classes)]
    row = _tokens(tokenizer, word)
    data = {"text": word, "tokenizers": packed, "classes": classes.packed()}
    return _check_size(Element(name, data, {_count("", row): row}))


def _label(tokenizers: tuple[Tokenizer | Mapping[str, Tokenizer], ...]) -> dict[str, Tokenizer]:
    """Return the tokenizers by label; those without one are named after what they are."""
    labelled: dict[str, Tokenizer] = {}
    for each in tokenizers:
        named = each if isinstance(each, Mapping) else {_name(each): each}
        for label, tokenizer in named.items():
            if not isinstance(tokenizer, Tokenizer):
                raise TypeError(f"give tokenizers, or {{label: tokenizer}}, not {type(tokenizer).__name__}")
            if label in labelled:
                raise ValueError(f"two tokenizers are called {label!r}: give {{label: tokenizer}}")
            labelled[str(label)] = tokenizer
    if not labelled:
        raise ValueError("give at least one tokenizer")
    return labelled


def _name(tokenizer: object) -> str:
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"give tokenizers, or {{label: tokenizer}}, not {type(tokenizer).__name__}")
    return f"{tokenizer.KIND}, {len(tokenizer):,} tokens"


def _tokens(tokenizer: Tokenizer, text: str) -> list[Token]:
    return [token or "" for token in tokenizer.tokens(text, disallowed_special=())]


def _count(label: str, row: list[Token]) -> str:
    number = f"{len(row):,} token{'' if len(row) == 1 else 's'}"
    return f"{label}: {number}" if label else number


def _train(text: str, num_merges: int, options: dict[str, Any]) -> BPETokenizer:
    bytes_wanted = options.get("alphabet", "bytes") == "bytes"
    size = 256 if bytes_wanted else len(set(options.get("base_tokens") or text))
    return BPETokenizer.train(text, size + num_merges, progress=False, **options)


def _pack_steps(tokenizer: BPETokenizer, text: str, num_merges: int) -> dict[str, Any]:
    taken = take_steps(tokenizer, text, num_merges)
    symbols, ends = find_ends(tokenizer, text, num_merges)
    merges = tokenizer.merges[:num_merges]
    pairs = ((*step["top"], *step["others"], step["pair"] or ()) for step in taken)
    used = {i for pair in chain.from_iterable(pairs) for i in pair[:2]} | set(chain.from_iterable(merges))
    made = {tokenizer.id_of(_join(tokenizer, pair)): _join(tokenizer, pair) for pair in merges}
    used |= {
        tokenizer.id_of(symbol.encode("latin-1") if tokenizer.alphabet == "bytes" else symbol)
        for symbol in symbols
    }
    return {
        "isBytes": tokenizer.alphabet == "bytes",
        "base": [(i, to_string(tokenizer.vocabulary[i] or "")) for i in sorted(used - set(made))],
        "base_size": sum(len(token) == 1 for token in tokenizer.vocabulary if token),
        "made": [(i, to_string(token)) for i, token in made.items()],
        "symbols": "".join(symbols),
        "ends": ends,
        "steps": taken,
    }


def _join(tokenizer: BPETokenizer, pair: tuple[int, int]) -> Any:
    left, right = pair
    return tokenizer.vocabulary[left] + tokenizer.vocabulary[right]  # type: ignore[operator]


def _picture_steps(tokenizer: BPETokenizer, text: str, num_merges: int) -> dict[str, list[Token]]:
    last = min(num_merges, len(tokenizer.merges))
    numbers = sorted({0, 1, last // 2, last} & set(range(last + 1)))
    rows = {}
    for number, row in zip(numbers, rows_after(tokenizer, text, numbers), strict=True):
        label = _count(f"after {number} merge{'' if number == 1 else 's'}", row)
        rows[label] = row if len(row) <= MOST_PICTURED else [*row[:MOST_PICTURED], "…"]
    return rows


def _check_size(element: Element) -> Element:
    size = len(element._repr_html_().encode("utf-8"))
    if size > LARGEST:
        raise ValueError(
            f"this would put {size // 1000:,} kB into the page, more than {LARGEST // 1000}: vocabularies of "
            f"real models don't go into a page. Give fewer tokenizers or smaller ones; "
            f"explorer(…, kernel=True) takes any, and the kernel does the work"
        )
    return element
