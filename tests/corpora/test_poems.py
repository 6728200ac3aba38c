"""The rules that choose the Tang poems: on made-up poems, by their laws, and on the real ones."""

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe.corpora import TANG_POEMS, data_folder, poem_sources, poems

QUATRAIN = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"


# --- forms


def compose(characters: str, syllables: int, couplets: int) -> str:
    """A poem of that form, with the characters used over and over."""
    verses = [characters[:1] * (syllables - 1) + characters[-1:] for _ in range(2 * couplets)]
    return "".join(f"{verse}{mark}" for verse, mark in zip(verses, "，。" * couplets, strict=True))


@pytest.mark.parametrize(
    ("syllables", "couplets", "form"),
    [
        (5, 2, "five-syllable quatrains"),
        (7, 2, "seven-syllable quatrains"),
        (5, 4, "five-syllable regulated verse"),
        (7, 4, "seven-syllable regulated verse"),
        (5, 3, None),
        (6, 2, None),
        (7, 8, None),
    ],
)
def test_form(syllables: int, couplets: int, form: str | None) -> None:
    assert poems.form_of(compose("月光", syllables, couplets)) == form


@pytest.mark.parametrize(
    "poem",
    [
        "",
        QUATRAIN + "\n",
        QUATRAIN + "月",
        QUATRAIN[:-1],
        QUATRAIN.replace("，", "。"),
        QUATRAIN.replace("，", ","),
        QUATRAIN.replace("床", "□"),  # the collection's sign for a lost character
        QUATRAIN.replace("床", "𠀀"),  # a Chinese character, but beyond 一 to 鿿
        compose("月", 5, 1) + compose("月", 7, 1),
    ],
)
def test_of_no_form(poem: str) -> None:
    assert poems.form_of(poem) is None


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1), st.data())
def test_a_form_is_lost_with_any_one_character(characters: str, data: st.DataObject) -> None:
    syllables, couplets = data.draw(st.sampled_from([(5, 2), (7, 2), (5, 4), (7, 4)]))
    poem = compose(characters, syllables, couplets)
    assert poems.form_of(poem)
    place = data.draw(st.integers(0, len(poem) - 1))
    assert poems.form_of(poem[:place] + poem[place + 1 :]) is None


# --- reading


def write_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_paragraphs_are_joined_and_files_stay_in_order(tmp_path: Path) -> None:
    first = write_json(tmp_path / "b", [{"paragraphs": ["甲，", "乙。"], "title": "t"}, {"paragraphs": []}])
    second = write_json(tmp_path / "a", [{"paragraphs": ["丙"]}])
    assert poems.read_poems([first, second]) == ["甲，乙。", "", "丙"]


@pytest.mark.parametrize(
    "entry", [None, "甲", 1, [], {}, {"paragraphs": "甲"}, {"paragraphs": ["甲", 1]}, {"paragraphs": None}]
)
def test_an_entry_without_a_poem_is_named(tmp_path: Path, entry: object) -> None:
    path = write_json(tmp_path / "poet.tang.0.json", [{"paragraphs": ["甲"]}, entry])
    with pytest.raises(poems.EntryError, match=r"poet\.tang\.0\.json, entry 2:"):
        poems.read_poems([path])


@pytest.mark.parametrize("content", [b"", b"[", b"\xff\xfe\xfa", b'[{"paragraphs": ["\xe6\x9c"]}]'])
def test_a_file_that_is_not_json_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "poet.tang.0.json"
    path.write_bytes(content)
    with pytest.raises(poems.EntryError, match=r"poet\.tang\.0\.json isn't JSON"):
        poems.read_poems([path])


def test_a_file_that_is_not_a_list_is_named(tmp_path: Path) -> None:
    path = write_json(tmp_path / "poet.tang.0.json", {"paragraphs": []})
    with pytest.raises(poems.EntryError, match=r"poet\.tang\.0\.json should hold a list"):
        poems.read_poems([path])


# --- choosing


def test_simplified_characters_and_variants_that_stay() -> None:
    pytest.importorskip("opencc")
    assert poems.to_simplified(["雲間書", "鴈皷"]) == ["云间书", "鴈皷"]


def test_without_opencc_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    with pytest.raises(ImportError, match=r"python -m pip install opencc==1\.4\.2"):
        poems.to_simplified([])


def test_selection_and_its_reasons() -> None:
    pytest.importorskip("opencc")
    traditional = "牀前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
    selection = poems.select([QUATRAIN, "无题", traditional.replace("牀", "床"), QUATRAIN])
    assert selection == poems.Selection(poems=[QUATRAIN], read=4, irregular=1, duplicates=2)


some_regular = st.sampled_from(
    [QUATRAIN, compose("月", 5, 2), compose("雲", 7, 4), compose("云", 7, 4), "无题"]
)


@settings(max_examples=20)  # each loads OpenCC's dictionaries
@given(st.lists(some_regular))
def test_every_poem_is_counted_once(raw: list[str]) -> None:
    pytest.importorskip("opencc")
    selection = poems.select(raw)
    assert selection.read == len(raw)
    assert selection.read == len(selection.poems) + selection.irregular + selection.duplicates


any_poems = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))


@given(any_poems, st.randoms(use_true_random=False))
def test_the_order_given_does_not_matter(some: list[str], shuffler: random.Random) -> None:
    other_order = some.copy()
    shuffler.shuffle(other_order)
    assert poems.in_random_order(some) == poems.in_random_order(other_order)
    assert sorted(poems.in_random_order(some)) == sorted(some)


def test_duplicates_go_and_first_places_stay() -> None:
    assert poems.without_duplicates(["乙", "甲", "乙", "丙", "甲"]) == ["乙", "甲", "丙"]


@given(any_poems)
def test_text_and_back(some: list[str]) -> None:
    assert poems.from_text(poems.to_text(some)) == some


@pytest.mark.parametrize("text", ["月".encode(), "月\n光".encode(), "月\n".encode()[1:]])
def test_a_truncated_text_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"newline|the text is not UTF-8"):
        poems.from_text(text)


def test_figures_of_a_few() -> None:
    figures = poems.figures([QUATRAIN, compose("月", 5, 2), "月，"])
    assert figures.poems == 3
    assert figures.by_form == {"five-syllable quatrains": 2}
    assert figures.of_no_form == 1
    assert figures.characters == 24 + 24 + 2
    assert figures.different_characters == len(set(QUATRAIN))


# --- the real poems


def skip_outside_ci(reason: str) -> None:
    """Under CI the data must be there: a test that is silently left out there protects nothing."""
    assert not os.environ.get("CI"), reason
    pytest.skip(reason)


@pytest.fixture(scope="module")
def selection() -> poems.Selection:
    if poem_sources.missing():
        skip_outside_ci(
            f"the raw files are not in {poem_sources.raw_folder()}; prepare_poems.py fetches them"
        )
    return poems.select(poems.read_poems(poem_sources.raw_paths()))


def test_raw_files_give_the_text_of_the_course(selection: poems.Selection) -> None:
    assert (selection.read, selection.irregular, selection.duplicates) == (57_607, 21_867, 605)
    assert hashlib.sha256(poems.to_text(selection.poems)).hexdigest() == poems.TEXT_SHA256


def test_figures_of_the_prepared_file() -> None:
    path = data_folder() / TANG_POEMS
    if not path.exists():
        skip_outside_ci(f"{path} is missing; prepare_poems.py makes it")
    prepared = poems.from_text(path.read_bytes())
    assert prepared[0].startswith("闲却白云居")
    assert poems.figures(prepared) == poems.Figures(
        poems=35_135,
        by_form={
            "five-syllable quatrains": 3_656,
            "seven-syllable quatrains": 10_087,
            "five-syllable regulated verse": 13_865,
            "seven-syllable regulated verse": 7_527,
        },
        of_no_form=0,
        characters=1_557_776,
        different_characters=6_288,
    )
