"""Bits per byte, for models whose cost can be worked out by hand."""

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import BPETokenizer, CharTokenizer  # noqa: E402
from bpe.minigpt.evaluation import Score, score, token_costs  # noqa: E402
from bpe.minigpt.model import MiniGPT, MiniGPTConfig  # noqa: E402
from bpe.subwords.lattice import Piece  # noqa: E402
from bpe.subwords.unigram import Unigram  # noqa: E402
from bpe.subwords.wordpiece import WordPiece  # noqa: E402


class Bigrams(torch.nn.Module):
    """A model in which the probability of an id depends only on the id before it; it is in a table."""

    def __init__(self, probabilities, block_size=4):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=len(probabilities), block_size=block_size)
        self.table = torch.nn.Parameter(torch.tensor(probabilities).log())

    def forward(self, ids):
        assert ids.shape[1] <= self.config.block_size
        return self.table[ids]


#                     \n    a     b
AFTER_NEWLINE = [0.25, 0.50, 0.25]
AFTER_A = [0.125, 0.125, 0.75]
AFTER_B = [0.50, 0.25, 0.25]


def test_a_bigram_model_by_hand():
    tokenizer = CharTokenizer("\nab")
    found = score(Bigrams([AFTER_NEWLINE, AFTER_A, AFTER_B]), tokenizer, "abba\n")
    # a after the newline before the text, b after a, b after b, a after b, \n after a
    by_hand = -math.log2(0.5) - math.log2(0.75) - math.log2(0.25) - math.log2(0.25) - math.log2(0.125)
    assert found.bits == pytest.approx(by_hand)
    assert found[1:] == (5, 5, 5)
    assert found.bits_per_byte == pytest.approx(by_hand / 5)


@given(st.text("ab\n", min_size=1, max_size=60), st.integers(1, 9), st.data())
def test_every_token_is_scored_once_whatever_the_windows(text, block_size, data):
    stride = data.draw(st.integers(1, block_size))
    table = [AFTER_NEWLINE, AFTER_A, AFTER_B]
    tokenizer = CharTokenizer("\nab")
    ids = tokenizer.encode("\n" + text)
    expected = -sum(math.log2(table[a][b]) for a, b in pairwise(ids))
    found = score(Bigrams(table, block_size), tokenizer, text, stride=stride)
    assert found.bits == pytest.approx(expected)
    assert found.tokens == len(text)


def test_overlapping_windows_give_every_token_its_context():
    """Each token is predicted from as much context as the windows promise."""
    torch.manual_seed(0)
    model = MiniGPT(MiniGPTConfig(20, block_size=8, embedding_dim=16, num_heads=2, num_layers=1, dropout=0.5))
    ids = torch.randint(20, (30,)).tolist()
    costs = token_costs(model, ids, stride=3)
    assert model.training  # as it was
    model.eval()
    end = 8
    for position in range(29):
        while position >= end:
            end = min(end + 3, 29)
        context = ids[max(0, end - 8) : position + 1]
        assert position < 8 or len(context) >= 8 - 3 + 1
        log_probabilities = model(torch.tensor([context]))[0, -1].log_softmax(-1)
        assert costs[position].item() == pytest.approx(-log_probabilities[ids[position + 1]].item(), abs=1e-5)


def test_chinese_has_three_bytes_a_character():
    found = score(Bigrams([[1 / 2, 1 / 2]] * 2), CharTokenizer("\n月"), "月月\n月")
    assert found == Score(pytest.approx(4.0), 4, 10, 4)
    assert found.bits_per_byte == pytest.approx(0.4)
    assert found.bits_per_character == pytest.approx(1.0)


def test_an_unknown_character_costs_its_bytes_too():
    tokenizer = CharTokenizer("\na", unknown="<unk>")
    model = Bigrams([[1 / 4, 1 / 4, 1 / 2]] * 3)
    # a costs 2 bits; 月 costs the 1 bit of <unk>, and 3 bytes
    assert score(model, tokenizer, "a月").bits == pytest.approx(2 + 1 + 24)
    assert score(model, tokenizer, "a月")[1:] == (2, 4, 2)


def test_unknown_characters_that_share_one_token_cost_all_their_bytes():
    """Unigram gives one unknown token to a run of characters, and puts a space before each part."""
    pieces = [("<unk>", 0.0, "unknown"), ("▁", -1.0), ("a", -1.0), ("\n", -1.0), ("<end>", 0.0, "control")]
    tokenizer = Unigram([Piece(*piece) for piece in pieces])
    model = Bigrams([[1 / 5] * 5] * 5)
    assert tokenizer.tokens("a月明a") == ["▁", "a", "<unk>", "a"]
    assert score(model, tokenizer, "a月明a").bits == pytest.approx(4 * math.log2(5) + 6 * 8)
    in_two = score(model, tokenizer, "a月明<end>a", allowed_special="all")
    assert in_two.bits == pytest.approx(5 * math.log2(5) + 6 * 8)
    assert in_two[1:] == (5, 8, 4)


def test_a_character_known_only_within_a_token_is_not_unknown():
    pieces = [("<unk>", 0.0, "unknown"), ("▁", -1.0), ("ab", -1.0), ("\n", -1.0)]
    tokenizer = Unigram([Piece(*piece) for piece in pieces])
    model = Bigrams([[1 / 4] * 4] * 4)
    assert score(model, tokenizer, "ab").bits == pytest.approx(2 * 2)
    assert score(model, tokenizer, "abb").bits == pytest.approx(3 * 2 + 8)


def test_tokens_that_end_within_a_character():
    text = "月明"
    tokenizer = BPETokenizer([bytes([i]) for i in range(256)])
    found = score(Bigrams([[1 / 256] * 256] * 256), tokenizer, text)
    assert found == Score(pytest.approx(6 * 8), 6, 6, 2)
    assert found.bits_per_byte == pytest.approx(8)


def test_special_tokens_are_in_neither_sum():
    tokenizer = BPETokenizer([bytes([i]) for i in range(256)], special_tokens={"<|end|>": 256})
    model = Bigrams([[1 / 257] * 257] * 257)
    found = score(model, tokenizer, "ab<|end|>c", allowed_special="all")
    assert found == Score(pytest.approx(3 * math.log2(257)), 3, 3, 3)
    with pytest.raises(ValueError, match="special"):
        score(model, tokenizer, "ab<|end|>c")
    with pytest.raises(ValueError, match="special tokens alone"):
        score(model, tokenizer, "<|end|>", allowed_special="all")


def test_the_same_model_costs_the_same_in_other_tokens():
    """Here 'ab' costs what a and b cost together, so only the loss per token differs."""
    single = BPETokenizer([b"\n", b"a", b"b"])
    paired = BPETokenizer([b"\n", b"a", b"b", b"ab"], [(1, 2)])
    costs = score(Bigrams([[1 / 4, 1 / 4, 1 / 2]] * 3), single, "ab" * 10)
    in_pairs = score(Bigrams([[1 / 8, 1 / 4, 1 / 2, 1 / 8]] * 4), paired, "ab" * 10)
    assert costs.bits_per_byte == pytest.approx(in_pairs.bits_per_byte)
    assert in_pairs.nats_per_token == pytest.approx(2 * costs.nats_per_token)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the text is empty"),
        ("a", {"stride": 0}, "stride must be 1 or more"),
        ("a", {"stride": 5}, "stride 5 is more than the block_size of 4"),
        ("c", {}, "character 'c'"),
    ],
)
def test_impossible_scores(text, options, message):
    model = Bigrams([[1 / 3] * 3] * 3)
    with pytest.raises(ValueError, match=message):
        score(model, CharTokenizer("\nab"), text, **options)


@pytest.mark.parametrize("text", [b"a", 5, None, ["a"]])
def test_texts_that_are_not_texts(text):
    with pytest.raises(TypeError, match="text must be a str, not"):
        score(Bigrams([[1 / 3] * 3] * 3), CharTokenizer("\nab"), text)


def test_a_text_without_utf_8():
    with pytest.raises(ValueError, match=r"lone surrogate U\+D83D at position 1"):
        score(Bigrams([[1 / 3] * 3] * 3), CharTokenizer("\nab"), "a\ud83d")


@pytest.mark.parametrize("stride", [True, 1.0, "1", math.nan])
def test_a_stride_that_is_not_an_integer(stride):
    with pytest.raises(TypeError, match="stride must be an integer"):
        score(Bigrams([[1 / 3] * 3] * 3), CharTokenizer("\nab"), "a", stride=stride)


def test_a_model_that_gives_no_numbers():
    with pytest.raises(ValueError, match="the model's costs are not numbers"):
        score(Bigrams([[math.nan] * 3] * 3), CharTokenizer("\nab"), "a")


def test_a_model_of_another_size():
    with pytest.raises(ValueError, match="the model has 3 ids and the tokenizer 2"):
        score(Bigrams([[1 / 3] * 3] * 3), CharTokenizer("\na"), "a")


@pytest.mark.parametrize(
    "tokenizer",
    [
        CharTokenizer("abc"),
        BPETokenizer(["a", "b"], special_tokens={"\n": 2}),
        WordPiece(["a", "##b"]),
    ],
    ids=repr,
)
def test_a_tokenizer_without_a_newline(tokenizer):
    with pytest.raises(ValueError, match="a newline must come before the text, and has no id: "):
        score(Bigrams([[1 / 3] * 3] * 3), tokenizer, "ab")
