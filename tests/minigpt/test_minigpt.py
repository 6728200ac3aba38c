"""The model: shapes, causality, the initial loss, learning; and sampling from it."""

import math

import pytest

torch = pytest.importorskip("torch")

import numpy  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bpe import CharTokenizer  # noqa: E402
from bpe.minigpt.generation import generate, sampled, window_start  # noqa: E402
from bpe.minigpt.model import KeyValueCache, MiniGPT, MiniGPTConfig  # noqa: E402

SMALL = MiniGPTConfig(vocab_size=50, block_size=16, embedding_dim=32, num_heads=4, num_layers=2, dropout=0.0)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return MiniGPT(SMALL).eval()


def test_default_sizes():
    config = MiniGPTConfig(vocab_size=500)
    assert (config.block_size, config.embedding_dim, config.num_heads) == (128, 128, 4)
    assert (config.num_layers, config.expansion_factor, config.dropout) == (4, 4, 0.1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size must be 1 or more, not 0"),
        ({"block_size": 0}, "block_size must be 1 or more"),
        ({"num_layers": -1}, "num_layers must be 1 or more"),
        ({"embedding_dim": 30}, "embedding_dim 30 must be a multiple of num_heads 4"),
        ({"dropout": 1.0}, "dropout must be 0 or more and below 1, not 1.0"),
        ({"dropout": math.nan}, "dropout must be 0 or more and below 1, not nan"),
    ],
)
def test_impossible_sizes(sizes, message):
    with pytest.raises(ValueError, match=message):
        MiniGPTConfig(**{"vocab_size": 10, **sizes})


def test_sizes_of_the_wrong_type():
    with pytest.raises(TypeError, match="num_heads must be an integer, not float"):
        MiniGPTConfig(10, num_heads=4.0)
    for dropout in ("0.1", None, True, [0.1], torch.tensor(0.1)):
        with pytest.raises(TypeError, match="dropout must be a number, not"):
            MiniGPTConfig(10, dropout=dropout)
    for value in (True, None, "3", math.nan):
        with pytest.raises(TypeError, match="num_layers must be an integer"):
            MiniGPTConfig(10, num_layers=value)


def test_number_of_parameters(model):
    width = SMALL.embedding_dim
    # Weights and biases of a block: two norms, attention in and out, feed-forward in and out.
    block = 4 * width + (width + 1) * 3 * width + (width + 1) * width + 8 * width**2 + 5 * width
    assert model.num_parameters().embedding == (50 + 16) * width
    assert model.num_parameters().body == 2 * block + 2 * width
    assert sum(p.numel() for p in model.parameters()) == sum(model.num_parameters())


def test_operations_per_token_by_hand():
    config = MiniGPTConfig(vocab_size=1000, block_size=8, embedding_dim=10, num_heads=1, num_layers=3)
    weights = 3 * (10 * 30 + 10 * 10 + 10 * 40 + 40 * 10) + 1000 * 10
    # 3 layers, 2 products of 2 · block_size · width each; the backward pass costs twice as much again
    attention = 3 * 2 * (2 * 8 * 10) * 3
    assert config.training_flops_per_token == 6 * weights + attention


def test_initial_loss_is_that_of_a_guess():
    torch.manual_seed(0)
    model = MiniGPT(MiniGPTConfig(vocab_size=1000, dropout=0.0))
    inputs, targets = torch.randint(1000, (2, 8, 128))
    assert model(inputs).shape == (8, 128, 1000)
    assert model.loss(inputs, targets).item() == pytest.approx(math.log(1000), rel=0.02)


def test_no_position_sees_what_comes_after_it(model):
    ids = torch.randint(50, (1, 16))
    before = model(ids)
    for position in range(16):
        changed = ids.clone()
        changed[0, position] = (changed[0, position] + 1) % 50
        after = model(changed)
        assert torch.allclose(before[0, :position], after[0, :position], atol=1e-6)
        assert not torch.allclose(before[0, position], after[0, position], atol=1e-6)


def test_it_learns_one_batch_by_heart():
    torch.manual_seed(0)
    model = MiniGPT(SMALL)
    ids = torch.randint(50, (4, 17))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        optimizer.zero_grad()
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


def test_head_and_embedding_are_one_tensor(model):
    assert "head.weight" not in dict(model.named_parameters())
    hidden = torch.randn(3, 32)
    assert torch.equal(model.logits(hidden), hidden @ model.token_embedding.weight.T)


def test_a_context_that_is_too_long(model):
    with pytest.raises(ValueError, match="17 tokens are more than the context of 16"):
        model(torch.zeros(1, 17, dtype=torch.long))
    cache = KeyValueCache(16)
    model.hidden(torch.zeros(1, 3, dtype=torch.long), cache)
    assert cache.length == 3
    with pytest.raises(ValueError, match="one token at a time can follow those in the cache, not 2"):
        model.hidden(torch.zeros(1, 2, dtype=torch.long), cache)


# --- generation


def test_cached_logits_are_those_of_the_whole(model):
    ids = torch.randint(50, (2, 16))
    whole = model.hidden(ids)
    cache = KeyValueCache(16)
    parts = [model.hidden(ids[:, :5], cache)]
    parts += [model.hidden(ids[:, i : i + 1], cache) for i in range(5, 16)]
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0}, {"top_k": 3}, {"top_p": 0.5}, {"temperature": 0.5, "top_k": 9, "top_p": 0.9}],
)
def test_generation_is_the_same_with_and_without_a_cache(model, options):
    """Within block_size and beyond it."""
    cached = generate(model, [1, 2], 40, num_samples=3, seed=7, **options)
    assert cached == generate(model, [1, 2], 40, num_samples=3, seed=7, use_cache=False, **options)
    assert [len(sample) for sample in cached] == [42] * 3
    assert all(sample[:2] == [1, 2] for sample in cached)


def test_what_is_dropped_beyond_the_context(model):
    """Each greedy token is the likeliest one after the window that `window_start` gives."""
    [sample] = generate(model, [3], 50, temperature=0)
    for length in range(1, len(sample)):
        start = window_start(length, 16)
        context = torch.tensor([sample[start:length]])
        assert 1 <= context.shape[1] <= 16
        assert model(context)[0, -1].argmax() == sample[length]


@given(st.integers(1, 300), st.integers(1, 40))
def test_the_window_fits_and_keeps_half(length, block_size):
    kept = length - window_start(length, block_size)
    assert kept <= block_size
    assert kept == length or kept > block_size - max(1, block_size // 2)


def test_a_prompt_longer_than_the_context(model):
    prompt = list(range(50))
    [sample] = generate(model, prompt, 3, temperature=0)
    assert sample[:50] == prompt
    assert sample == generate(model, prompt, 3, temperature=0, use_cache=False)[0]


def test_sampling_keeps_to_its_limits(model):
    likeliest = set(model(torch.tensor([[1]]))[0, -1].topk(3).indices.tolist())
    assert {s[1] for s in generate(model, [1], 1, num_samples=200, top_k=3, seed=0)} == likeliest
    few = {s[1] for s in generate(model, [1], 1, num_samples=200, top_p=1e-9, seed=0)}
    assert few == {model(torch.tensor([[1]]))[0, -1].argmax().item()}
    banned = list(range(49))
    assert generate(model, [1], 5, banned=banned, temperature=0) == [[1, 49, 49, 49, 49, 49]]


def test_top_p_takes_the_fewest_that_reach_it(model):
    probabilities = model(torch.tensor([[1]]))[0, -1].softmax(-1)
    ordered = probabilities.sort(descending=True)
    number = int((ordered.values.cumsum(0) < 0.3).sum()) + 1
    taken = {s[1] for s in generate(model, [1], 1, num_samples=2_000, top_p=0.3, seed=0)}
    assert taken == set(ordered.indices[:number].tolist())


def test_temperature_one_follows_the_probabilities(model):
    samples = torch.tensor(generate(model, [1], 1, num_samples=20_000, seed=0))[:, 1]
    shares = torch.bincount(samples, minlength=50) / len(samples)
    assert torch.allclose(shares, model(torch.tensor([[1]]))[0, -1].softmax(-1), atol=0.01)


def test_generation_leaves_torch_and_the_model_as_they_were(model):
    model.train()
    state = torch.get_rng_state()
    generate(model, [1], 5, seed=3)
    generate(model, [1], 5)
    assert torch.equal(state, torch.get_rng_state())
    assert model.training
    assert generate(model, [4, 5], 0) == [[4, 5]]


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], {}, "the prompt is empty"),
        ([50], {}, "id 50 is out of range: ids go from 0 to 49"),
        ([1], {"temperature": -1}, "temperature must be 0 or more and finite, not -1"),
        ([1], {"temperature": math.nan}, "temperature must be 0 or more and finite, not nan"),
        ([1], {"temperature": math.inf}, "temperature must be 0 or more and finite, not inf"),
        ([1], {"top_p": math.nan}, "top_p must be above 0 and at most 1, not nan"),
        ([1], {"top_k": 0}, "top_k must be 1 or more, not 0"),
        ([1], {"top_p": 0.0}, "top_p must be above 0 and at most 1, not 0.0"),
        ([1], {"num_samples": 0}, "num_samples must be 1 or more"),
        ([1], {"seed": 2**64}, r"seed must be below 2\*\*64"),
        ([1], {"banned": list(range(50))}, "all ids are banned"),
    ],
)
def test_impossible_sampling(model, prompt, options, message):
    with pytest.raises(ValueError, match=message):
        generate(model, prompt, 1, **options)


@pytest.mark.parametrize("value", [True, "1", [1], 1j])
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "num_samples", "seed"])
def test_sampling_with_what_is_not_a_number(model, name, value):
    with pytest.raises(TypeError, match=f"{name} must be a"):
        generate(model, [1], 1, **{name: value})


@pytest.mark.parametrize("num_tokens", [True, None, 1.0, math.nan, "3"])
def test_a_number_of_tokens_that_is_not_one(model, num_tokens):
    with pytest.raises(TypeError, match="num_tokens must be an integer"):
        generate(model, [1], num_tokens)
    with pytest.raises(TypeError, match="temperature must be a number, not NoneType"):
        generate(model, [1], 1, temperature=None)


@pytest.mark.parametrize("prompt", [5, None, "abc", b"abc"])
def test_prompts_that_are_not_ids(model, prompt):
    with pytest.raises(TypeError, match="the prompt must be a list of ids, not"):
        generate(model, prompt, 1)


@pytest.mark.parametrize("prompt", [b"a", 5, None, ["a"]])
def test_prompts_that_are_not_texts(model, prompt):
    with pytest.raises(TypeError, match="the prompt must be a str, not"):
        sampled(model, CharTokenizer("ab\n"), prompt, 1, 1)


def test_a_prompt_that_has_no_utf_8(model):
    with pytest.raises(ValueError, match=r"lone surrogate U\+D83D at position 1"):
        sampled(model, CharTokenizer("ab\n"), "a\ud83d", 1, 1)


@pytest.mark.parametrize("weight", [math.nan, math.inf])
def test_a_model_that_gives_no_numbers(model, weight):
    torch.nn.init.constant_(model.norm.weight, weight)
    with pytest.raises(ValueError, match="the model's logits are not finite"):
        generate(model, [1], 1)


@pytest.mark.parametrize("options", [{"top_p": 1e-300}, {"temperature": 1e-320}, {"temperature": 1e-40}])
def test_limits_too_small_for_float32_leave_the_likeliest(model, options):
    assert generate(model, [1], 9, **options) == generate(model, [1], 9, temperature=0)


def test_a_seed_may_be_numpys(model):
    assert generate(model, [1], 9, seed=numpy.int64(3)) == generate(model, [1], 9, seed=3)


def test_an_error_leaves_the_model_in_training(model, monkeypatch):
    model.train()
    monkeypatch.setattr(model, "logits", None)
    with pytest.raises(TypeError):
        generate(model, [1], 1)
    assert model.training
