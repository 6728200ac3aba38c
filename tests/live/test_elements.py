"""The elements as parts of a page: their pictures, their size, what they refuse."""

import re

import pytest
from node import data_of

from bpe import BPETokenizer, CharTokenizer, Unigram, WordBPE, live, naive
from bpe.live import kernel

TOKENIZER = BPETokenizer.train("low lower lowest", 260, pattern="gpt2")
TEXT = "The moon is low, and the lower moon is lowest; the slow moon shines on the lowlands below. " * 3


def test_a_picture_stays_where_no_script_runs():
    element = live.explorer({"<bytes>": TOKENIZER}, CharTokenizer("lowest "), text=" lowest")
    page = element._repr_html_()
    before = page[: page.index("<script")]
    assert '<th scope="row"' in before
    assert "&lt;bytes&gt;: 3 tokens" in before
    assert ">·lowe</bdi>" in before
    assert repr(element).splitlines() == [
        "<bytes>: 3 tokens               ·lowe | s | t",
        "characters, 7 tokens: 7 tokens  · | l | o | w | e | s | t",
    ]


def test_elements_are_the_same_each_time():
    for make in (
        lambda: live.explorer(TOKENIZER),
        lambda: live.steps("low lower lowest"),
        lambda: live.trees(TOKENIZER),
    ):
        assert make()._repr_html_() == make()._repr_html_()


def test_nothing_hidden_and_no_markup_gets_into_the_source():
    text = "</script><!-- <b> & \u202e \x00 \u2028 \U000e0041"
    for element in (
        live.explorer({"</script>\u202e": TOKENIZER}, text=text),
        live.steps(text),
        live.trees(TOKENIZER, text),
    ):
        page = element._repr_html_()
        assert not re.search("[\x00\u202e\u2028\U000e0041]", page)
        assert page.count("</script>") == 2
        assert "<b>" not in page and "<!--" not in page
    assert data_of(live.explorer(TOKENIZER, text=text))["text"] == text


def test_no_element_asks_the_network():
    page = live.explorer(TOKENIZER)._repr_html_()
    links = set(re.findall(r"https?://[^\s\"']+", page))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\b\(|@import|url\(", page)


def test_large_tokenizers_are_refused():
    many = BPETokenizer([bytes([value]) for value in range(256)] + [b"%06d" % i for i in range(30_000)])
    with pytest.raises(ValueError, match=r"kB into the page, more than 300.*kernel=True"):
        live.explorer(many)


def test_vocabularies_of_real_models_are_refused():
    real = BPETokenizer([bytes([value]) for value in range(256)] + [b"%05d" % i for i in range(50_000)])
    with pytest.raises(ValueError, match="50,256 tokens is too large for a page"):
        live.explorer(real)


def test_other_kinds_are_refused():
    words = WordBPE.train("low lower lowest", 30)
    with pytest.raises(ValueError, match=r"not with WordBPE; explorer\(…, kernel=True\)"):
        live.explorer(words)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([], ValueError, "at least one"),
        (["low"], TypeError, "not str"),
        ([{"a": 3}], TypeError, "not int"),
        ([TOKENIZER, TOKENIZER], ValueError, "two tokenizers are called"),
    ],
)
def test_wrong_tokenizers_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        live.explorer(*arguments)


def test_a_text_with_half_a_character_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        live.explorer(TOKENIZER, text="\ud83d")


# -- steps


def test_steps_are_those_of_the_naive_loop():
    data = data_of(live.steps(TEXT, num_merges=50))
    expected = list(naive.learn_merges([list(TEXT.encode())], [1], 50, 256))
    steps = data["steps"]
    assert [tuple(step["pair"]) for step in steps[:-1]] == [step.pair for step in expected]
    assert [step["times"] for step in steps[:-1]] == [step.frequency for step in expected]
    assert all(step["is_first"] for step in steps[:-1])
    assert steps[-1]["pair"] is None
    for number, step in enumerate(expected, 1):
        # A boundary is gone from the merge on that its number names.
        assert 1 + sum(end == 0 or end > number for end in data["ends"]) == step.tokens_left


def test_steps_with_a_split_keep_its_boundaries():
    data = data_of(live.steps("low lower lowest", pattern="words"))
    assert data["ends"][2] == 0 == data["ends"][3]
    assert data["steps"][0]["top"][0] == [108, 111, 3]


def test_ties_are_named():
    first = data_of(live.steps("low lower lowest"))["steps"][0]
    assert (first["pair"], first["times"], first["tied"]) == ([108, 111], 3, 2)
    assert first["others"] == [[111, 119]]


def test_merges_of_another_text_are_told():
    steps = data_of(live.steps(BPETokenizer.train("abab", 257), "cdcd ab"))["steps"]
    assert not steps[0]["is_first"]
    assert (steps[0]["times"], steps[0]["most"]) == (1, 2)


def test_steps_of_characters():
    data = data_of(live.steps("月光月光", alphabet="characters"))
    assert data["made"] == [[2, "月光"]]
    assert data["symbols"] == "月光月光"


def test_the_picture_of_steps_is_a_few_rows():
    assert repr(live.steps("low lower lowest")).splitlines() == [
        "after 0 merges: 16 tokens  l | o | w | · | l | o | w | e | r | · | l | o | w | e | s | t",
        "after 1 merge: 13 tokens   lo | w | · | lo | w | e | r | · | lo | w | e | s | t",
        "after 2 merges: 10 tokens  low | · | low | e | r | · | low | e | s | t",
        "after 4 merges: 6 tokens   low | ·lowe | r | ·lowe | s | t",
    ]
    assert repr(live.steps("ab" * 500)).splitlines()[0].endswith(" | a | b | …")


@pytest.mark.parametrize("text", [TEXT[:200], ("月光" + TEXT)[:200], "a", "aaaaaaa"])
def test_steps_are_small(text):
    assert len(live.steps(text, num_merges=50)._repr_html_().encode()) <= 100_000


def test_steps_refuse():
    with pytest.raises(ValueError, match="needs a text"):
        live.steps(TOKENIZER)
    with pytest.raises(TypeError, match="not CharTokenizer"):
        live.steps(CharTokenizer("a"), "a")
    with pytest.raises(ValueError, match="too long"):
        live.steps("a" * 3_000)
    with pytest.raises(ValueError, match="at most 200"):
        live.steps("aa", num_merges=201)
    with pytest.raises(ValueError, match="empty"):
        live.steps("")


def test_trees_need_merges():
    with pytest.raises(TypeError, match="not CharTokenizer"):
        live.trees(CharTokenizer("a"))


def test_a_lattice_needs_pieces():
    unigram = Unigram([("<unk>", 0, "unknown"), ("▁l", -2), ("ow", -1), ("l", -3), ("o", -3), ("w", -3)])
    assert repr(live.lattice(unigram, "low")) == "2 tokens  ▁l | ow"
    with pytest.raises(TypeError, match="not BPETokenizer"):
        live.lattice(TOKENIZER)


# -- the kernel's explorer


def test_rows_of_the_kernel():
    rows = kernel.show_rows({"<b>": TOKENIZER, "few": CharTokenizer("low")}, "low<\u202e")
    assert "&lt;b&gt;: 5 tokens" in rows
    assert "&lt;</bdi>" in rows
    assert "<p>few: character" in rows and "\u202e" not in rows


def test_typing_into_the_kernels_explorer():
    pytest.importorskip("ipywidgets")
    box = live.explorer(TOKENIZER, Unigram.train("low lower lowest " * 20, 270), text="low", kernel=True)
    field, shown = box.children
    field.value = " lowest"
    assert ">·lowe</bdi>" in shown.value
    field.value = "\ud83d"
    assert "surrogate" in shown.value
