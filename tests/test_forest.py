"""The forest of a text: its trees, and how they are drawn."""

import pytest

from bpe import BPETokenizer, forest

TEXTS = ["low lower lowest", "slow", "月 low", ""]


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train("low lower lowest", 300)


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("text", TEXTS)
def test_leaves_are_the_bytes_and_roots_the_tokens(tokenizer, text):
    trees = forest.grow(tokenizer, text)
    nodes = [node for tree in trees for node in tree.nodes()]
    leaves = [node for node in nodes if not node.parts]
    assert [tree.token for tree in trees] == tokenizer.tokens(text)
    assert [node.token for node in leaves] == [bytes([value]) for value in text.encode()]
    assert len(nodes) == 2 * len(leaves) - len(trees)


def test_each_node_joins_its_parts_by_the_merge_it_names(tokenizer):
    for tree in forest.grow(tokenizer, "low lower lowest"):
        for node in tree.nodes():
            if node.parts:
                left, right = tokenizer.merges[node.number - 1]
                assert [part.token for part in node.parts] == [tokenizer.token(left), tokenizer.token(right)]
                assert node.token == node.parts[0].token + node.parts[1].token
            else:
                assert node.number is None and node.height == 0


def test_characters_special_tokens_and_tokens_that_no_merge_makes():
    characters = BPETokenizer.train("月光月光", 3, alphabet="characters")
    [tree] = forest.grow(characters, "月光")
    assert [node.token for node in tree.nodes()] == ["月", "光", "月光"]
    whole = BPETokenizer([b"a", b"b", b"ab"], whole_pieces=True)
    assert forest.grow(whole, "ab") == [forest.Tree(b"ab")]


@pytest.mark.parametrize("text", TEXTS)
def test_a_drawing_has_a_box_for_each_node_and_two_lines_for_each_merge(tokenizer, pyplot, text):
    trees = forest.grow(tokenizer, text)
    nodes = [node for tree in trees for node in tree.nodes()]
    axes = forest.draw(trees)
    assert len(axes.texts) == len(nodes)
    assert len(axes.lines) == 2 * sum(bool(node.parts) for node in nodes)
    labels = {box.get_text() for box in axes.texts}
    assert text != "slow" or labels == {"s", "l", "o", "w", "lo\n1", "low\n2"}


def test_no_two_boxes_are_in_the_same_place(tokenizer, pyplot):
    _, axes = pyplot.subplots()
    assert forest.draw(forest.grow(tokenizer, "low lower lowest"), axes) is axes
    places = [box.get_position() for box in axes.texts]
    assert len(set(places)) == len(places)
