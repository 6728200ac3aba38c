"""Our encoding against independent ones, id for id, on all six vocabularies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from independent import DIFFERENT, FRAGMENTS, NAMES, SHARED, compare, nasty_texts, ours

from bpe import corpora, presplit

CHECKOUT = Path(__file__).resolve().parents[2]
every_vocabulary = pytest.mark.parametrize("name", NAMES)
any_number_of_texts = settings(
    database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def need(corpus: str) -> None:
    if missing := corpora.missing_files(corpus):
        pytest.skip(f"{missing[0]} is missing")


def source() -> Iterator[str]:
    """The text files of this project."""
    for folder in ("bpe", "tests", "benchmarks", "notebooks"):
        for path in sorted((CHECKOUT / folder).rglob("*")):
            if path.suffix in (".py", ".md", ".toml", ".yml", ".txt"):
                yield path.read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", "environment.yml", "prepare_poems.py"):
        yield (CHECKOUT / name).read_text(encoding="utf-8")


def around_each(characters: str) -> Iterator[str]:
    """Each character between letters, digits, signs and whitespace, a hundred characters in a text."""
    places = [f"a{c}B1{c}.{c}\n {c}" for c in characters]
    for start in range(0, len(places), 100):
        yield "".join(places[start : start + 100])


# -- what is in them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size", "tokens", "merges"),
    [
        ("gpt2", 50_257, 50_256, 50_000),
        ("gpt4", 100_277, 100_256, 100_000),
        ("gpt4o", 200_019, 199_998, 199_742),
        ("llama3", 128_256, 128_000, 127_156),
        ("qwen", 151_669, 151_643, 151_387),
        ("deepseek", 129_280, 127_997, 127_741),
    ],
)
def test_sizes(name, size, tokens, merges):
    tokenizer = ours(name)
    in_use = [token for token in tokenizer.vocabulary if token is not None]
    assert (tokenizer.vocab_size, len(in_use), len(tokenizer.merges)) == (size, tokens, merges)
    assert {token for token in in_use if len(token) == 1} == {bytes([value]) for value in range(256)}


def test_byte_values_are_ids_in_none_of_them():
    for name in NAMES:
        assert ours(name).encode("!") == [3 if name == "deepseek" else 0]


def test_holes_and_special_tokens():
    assert ours("gpt4").token(100_256) is None
    assert ours("gpt4").token(100_276) == b"<|endofprompt|>"
    with pytest.raises(ValueError, match="not in use"):
        ours("gpt4").decode([100_261])
    assert ours("deepseek").token(0) == "<｜begin▁of▁sentence｜>".encode()
    assert ours("llama3").special_tokens["<|reserved_special_token_245|>"] == 128_255


def test_the_first_tokens_of_llama3_are_those_of_gpt4():
    assert ours("llama3").vocabulary[:100_256] == ours("gpt4").vocabulary


def test_tokens_of_llama3_that_earlier_ones_do_not_make():
    """588 occur only as whole pieces; 81 others are made of a later token, within a longer piece."""
    tokenizer = ours("llama3")
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    made = {
        ids[tokenizer.vocabulary[left] + tokenizer.vocabulary[right]]: max(left, right)
        for left, right in tokenizer.merges
    }
    assert 128_000 - 256 - len(made) == 588
    of_later = [i for i, part in made.items() if part > i]
    assert len(of_later) == 81
    assert tokenizer.tokens(" thời月") == [" thời".encode(), "月".encode()]
    assert ids[" thời".encode()] in of_later


def test_deepseek_s_file_has_our_named_pattern():
    written = [expression.replace("\r", r"\r").replace("\n", r"\n") for expression in ours("deepseek").split]
    named = [expression.replace(r"\"", '"') for expression in presplit.DEEPSEEK]
    assert written == named


# -- a sample, in every run --------------------------------------------------------------------------------


@every_vocabulary
def test_a_sample_of_the_poems(name):
    need("tang_poems")
    assert compare(name, corpora.tang_poems()[::500]).different == []


@every_vocabulary
def test_a_sample_of_wikitext2(name):
    need("wikitext2")
    assert compare(name, [corpora.wikitext2("test")[:30_000]]).different == []


@every_vocabulary
def test_this_file_and_the_fragments(name):
    texts = [Path(__file__).read_text(encoding="utf-8"), *FRAGMENTS, "".join(FRAGMENTS), " ".join(FRAGMENTS)]
    assert compare(name, texts).different == []


@every_vocabulary
def test_a_sample_of_all_code_points(name):
    assert compare(name, around_each(SHARED[::997])).different == []


@settings(any_number_of_texts, max_examples=150)
@given(nasty_texts)
def test_some_nasty_texts(text):
    for name in NAMES:
        assert compare(name, [text]).different == []


# -- everything, in `make test-full` -----------------------------------------------------------------------


def report(name: str, what: str, texts: Iterator[str] | list[str]) -> None:
    """Compare, and print the figures, which pytest shows with -rP."""
    compared = compare(name, texts)
    print(f"{name}, {what}: {compared.texts:,} texts, {compared.ids:,} ids compared, "
          f"{len(compared.different)} different")  # fmt: skip
    assert compared.different == []


@pytest.mark.full
@every_vocabulary
def test_all_poems(name):
    need("tang_poems")
    report(name, "poems", corpora.tang_poems())


@pytest.mark.full
@every_vocabulary
def test_wikitext2_valid_and_test(name):
    need("wikitext2")
    report(name, "WikiText-2", [corpora.wikitext2("valid"), corpora.wikitext2("test")])


@pytest.mark.full
@every_vocabulary
def test_this_project(name):
    report(name, "source", source())


@pytest.mark.full
@every_vocabulary
def test_all_code_points(name):
    report(name, "code points", around_each(SHARED))


@pytest.mark.full
def test_a_hundred_thousand_nasty_texts():
    """All six get the same texts, since making them takes longer than encoding them."""
    texts, ids = Counter[str](), Counter[str]()

    @settings(any_number_of_texts, max_examples=100_000)
    @given(nasty_texts)
    def run(text):
        for name in NAMES:
            compared = compare(name, [text])
            texts[name] += compared.texts
            ids[name] += compared.ids
            assert compared.different == []

    run()
    for name in NAMES:
        print(f"{name}, nasty texts: {texts[name]:,} texts, {ids[name]:,} ids compared, 0 different")


# -- where Unicode versions differ -------------------------------------------------------------------------

CLASSES = ["L", "N", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "P", "S"]


def of_class_for_regex(expression: str, characters: str) -> set[str]:
    return set(regex.findall(expression, characters))


def of_class_for_tokenizers(expression: str, characters: str) -> set[str]:
    tokenizers = pytest.importorskip("tokenizers")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "removed", invert=True)
    return set("".join(piece for piece, _ in split.pre_tokenize_str(characters)))


def of_class_for_tiktoken(expression: str, characters: str) -> set[str]:
    """A character of the class is in one piece with the A before it, so A and its first byte merge."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([value]): value for value in range(256)}
    ranks |= {b"A" + bytes([value]): 256 + value for value in range(256)}
    encoding = tiktoken.Encoding(
        "probe", pat_str=rf"A{expression}|(?s:.)", mergeable_ranks=ranks, special_tokens={}
    )
    found = set()
    for start in range(0, len(characters), 50_000):
        some = characters[start : start + 50_000].replace("A", "")
        tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary("A" + "A".join(some)))
        starts = [token for token in tokens if token.startswith(b"A")]
        found |= {character for character, token in zip(some, starts, strict=True) if len(token) == 2}
    return found | (set("A") & set(characters) if regex.match(expression, "A") else set())


def differing(of_class, characters: str) -> set[int]:
    expressions = [rf"\p{{{name}}}" for name in CLASSES] + [r"\s"]
    return {
        ord(character)
        for expression in expressions
        for character in of_class(expression, characters) ^ of_class_for_regex(expression, characters)
    }


both_libraries = pytest.mark.parametrize("of_class", [of_class_for_tiktoken, of_class_for_tokenizers])


@both_libraries
def test_the_list_of_differing_code_points_has_no_other(of_class):
    listed = "".join(map(chr, sorted(DIFFERENT)))
    assert differing(of_class, listed + SHARED[::97]) == DIFFERENT
    assert len(DIFFERENT) == 17_811


@pytest.mark.full
@both_libraries
def test_the_list_of_differing_code_points_is_complete(of_class):
    assert differing(of_class, SHARED) == set()


def test_all_but_one_of_them_are_new():
    """U+0295 moved from small letters to other letters; the rest is newer than Unicode 16."""
    import tokenizers

    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\p{Cn}"), "removed", invert=True)
    unassigned = "".join(piece for piece, _ in split.pre_tokenize_str("".join(map(chr, sorted(DIFFERENT)))))
    assert DIFFERENT - set(map(ord, unassigned)) == {0x295}
