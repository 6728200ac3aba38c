"""Merges as a forest: each token of a text is a tree of the merges that made it, its symbols the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bpe import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bpe.bytepair import BPETokenizer
    from bpe.tokenizer import Token


class Tree(NamedTuple):
    """A token and the two trees that were merged into it.

    number: the merge that made it, counted from 1; None, without parts, if no merge did.
    """

    token: Token
    number: int | None = None
    parts: tuple[Tree, ...] = ()

    @property
    def height(self) -> int:
        """The number of merges from the root down to the deepest leaf; 0 for a leaf."""
        return 1 + max(part.height for part in self.parts) if self.parts else 0

    def nodes(self) -> Iterator[Tree]:
        """Yield all nodes, parts before the node they make, so leaves come from left to right."""
        for part in self.parts:
            yield from part.nodes()
        yield self


def grow(tokenizer: BPETokenizer, text: str) -> list[Tree]:
    """Encode a text and return the trees of its tokens, from left to right.

    >>> from bpe import BPETokenizer
    >>> [tree.height for tree in grow(BPETokenizer.train("aaabdaaabac", 259), "aaaba")]
    [3, 0]
    """
    # No two merges make the same token, so a token identifies the merge that made it.
    made_by: dict[Token, tuple[int, tuple[int, int]]] = {}
    for number, (left, right) in enumerate(tokenizer.merges, 1):
        joined = tokenizer.vocabulary[left] + tokenizer.vocabulary[right]  # type: ignore[operator]
        made_by[joined] = number, (left, right)

    def grow_tree(i: int) -> Tree:
        token = tokenizer.token(i) or ""
        if token not in made_by:
            return Tree(token)
        number, (left, right) = made_by[token]
        return Tree(token, number, (grow_tree(left), grow_tree(right)))

    return [grow_tree(i) for i in tokenizer.encode(text)]


def draw(trees: Sequence[Tree], axes: Axes | None = None) -> Axes:
    """Draw trees side by side: leaves at the bottom, the number of its merge on each token.

    axes: where to draw; by default a new figure that fits the trees.
    """
    num_leaves = sum(not node.parts for tree in trees for node in tree.nodes())
    height = max((tree.height for tree in trees), default=0)
    if axes is None:
        axes = show.axes(size=(max(2.0, 0.45 * num_leaves), 0.8 + 0.62 * height))
    x = 0
    for i, tree in enumerate(trees):
        x, _ = _draw_tree(axes, tree, x, show.COLOURS[i % len(show.COLOURS)])
    axes.set_xlim(-0.6, num_leaves - 0.4)
    axes.set_ylim(-0.5, height + 0.5)
    axes.set_axis_off()
    return axes


def _draw_tree(axes: Axes, tree: Tree, x: int, colour: str) -> tuple[int, float]:
    """Draw a tree whose first leaf is at x; return the x of the next tree and of this tree's root."""
    roots = []
    end = x
    for part in tree.parts:
        end, root = _draw_tree(axes, part, end, colour)
        roots.append((root, part.height))
    if not roots:
        end = x + 1
    root_x = sum(root for root, _ in roots) / len(roots) if roots else float(x)
    for part_x, part_y in roots:
        axes.plot(
            [root_x, part_x], [tree.height, part_y], color=show.GREY, linestyle="-", marker="", zorder=1
        )
    label = show.readable(tree.token) + (f"\n{tree.number}" if tree.number is not None else "")
    box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": show.GREY}
    axes.text(root_x, tree.height, label, ha="center", va="center", fontsize=9, color=show.DARK, bbox=box)
    return end, root_x
