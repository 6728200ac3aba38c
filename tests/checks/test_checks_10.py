"""The checks of chapter 10: right answers, empty ones, and the usual mistakes."""

from __future__ import annotations

from collections import Counter

import pytest
from answers import assert_no_answer_is_known

from bpe.checks import chapter_10 as check


@pytest.mark.parametrize("number", [1, 2, 3])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)
    assert said(getattr(check, f"exercise_{number}"), ...) == f"exercise {number}: not started"


# -- exercise 1 --------------------------------------------------------------------------------------------


def words_of(tokens):
    words, word = [], ""
    for token in tokens:
        word += token.removesuffix("</w>")
        if token.endswith("</w>"):
            words.append(word)
            word = ""
    return [*words, word] if word else words


def test_words(said):
    assert said(check.exercise_1, words_of) == "exercise 1: correct"


def test_words_without_the_last_one(said):
    verdict = said(check.exercise_1, lambda tokens: "".join(tokens).split("</w>")[:-1])
    assert "['low', 'est'] you return []; it should be ['lowest']" in verdict


def test_words_with_an_empty_one_at_the_end(said):
    verdict = said(check.exercise_1, lambda tokens: "".join(tokens).split("</w>"))
    assert "['low</w>'] you return ['low', '']; it should be ['low']" in verdict


def test_words_without_their_last_letter(said):
    verdict = said(check.exercise_1, lambda tokens: [word.rstrip("</w>") for word in words_of(tokens)])
    assert "you return ['lo']; it should be ['low']" in verdict and "`removesuffix`" in verdict


def test_words_that_change_the_list(said):
    def takes_away(tokens):
        words = words_of(tokens)
        tokens.clear()
        return words

    assert "changes the list" in said(check.exercise_1, takes_away)


# -- exercise 2 --------------------------------------------------------------------------------------------


def longest_first(word, pieces, *, back=False, prefix="##", unknown=True):
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (prefix if start else "") + word[start:end]
            if piece in pieces:
                found.append(piece)
                start = end
                break
        else:
            return ["[UNK]"] if unknown else [*found, "[UNK]"]
    return found


def test_the_longest_first(said):
    assert said(check.exercise_2, longest_first) == "exercise 2: correct"


def test_only_the_rest_unknown(said):
    verdict = said(check.exercise_2, lambda word, pieces: longest_first(word, pieces, unknown=False))
    assert "'unable'" in verdict and "you return ['una', '[UNK]']; it should be ['[UNK]']" in verdict


def test_without_the_marks(said):
    verdict = said(check.exercise_2, lambda word, pieces: longest_first(word, pieces, prefix=""))
    assert "'lowest' and the pieces ##est, low you return ['[UNK]']" in verdict


def test_going_back(said):
    def any_way(word, pieces, prefix=""):
        if not word:
            return []
        for end in range(len(word), 0, -1):
            if prefix + word[:end] in pieces:
                rest = any_way(word[end:], pieces, "##")
                if rest is not None:
                    return [prefix + word[:end], *rest]
        return None if prefix else ["[UNK]"]

    verdict = said(check.exercise_2, any_way)
    assert "you return ['un', '##able']; it should be ['[UNK]']" in verdict


# -- exercise 3 --------------------------------------------------------------------------------------------


def expected_use(text, probability):
    roads = [
        (begin, begin + len(piece), piece)
        for begin in range(len(text))
        for piece in probability
        if text.startswith(piece, begin)
    ]
    left, right = Counter({0: 1.0}), Counter({len(text): 1.0})
    for begin, end, piece in roads:
        left[end] += left[begin] * probability[piece]
    for begin, end, piece in reversed(roads):
        right[begin] += probability[piece] * right[end]
    use = Counter()
    for begin, end, piece in roads:
        if share := left[begin] * probability[piece] * right[end] / left[len(text)]:
            use[piece] += share
    return dict(use)


def test_use(said):
    assert said(check.exercise_3, expected_use) == "exercise 3: correct"


def test_use_in_one_way_only(said):
    verdict = said(check.exercise_3, lambda text, probability: dict(Counter([text])) | {"b": 1.0})
    assert "entry for 'b', which no way to cut the text uses" in verdict


def test_use_that_is_not_divided(said):
    def undivided(text, probability):
        use = expected_use(text, probability)
        return {piece: share * 0.5 for piece, share in use.items()}

    assert "you return 0.5000 for 'a'; it should be 1.0000" in said(check.exercise_3, undivided)


def test_use_of_pieces_that_lead_nowhere(said):
    def all_pieces(text, probability):
        return dict.fromkeys(probability, 0.0) | expected_use(text, probability)

    assert "an entry for 'x', which no way to cut the text uses" in said(check.exercise_3, all_pieces)


def test_use_that_leaves_out_the_rare_ones(said):
    def best_only(text, probability):
        use = expected_use(text, probability)
        return {piece: share for piece, share in use.items() if share > 0.5}

    assert "you return no entry for" in said(check.exercise_3, best_only)


def test_use_that_is_no_number(said):
    verdict = said(check.exercise_3, lambda *args: dict.fromkeys(expected_use(*args)))
    assert "you return None for 'a'; it should be the number 1.0000" in verdict


def test_an_entry_that_is_no_piece(said):
    verdict = said(check.exercise_3, lambda *args: expected_use(*args) | {0: 1.0, "q": 1.0})
    assert "you return an entry for 'q', which no way to cut the text uses" in verdict


def test_use_that_counts_a_piece_once_a_way(said):
    def once(text, probability):
        use = expected_use(text, probability)
        return {piece: min(share, 1.0) for piece, share in use.items()}

    assert "'aaa'" in (verdict := said(check.exercise_3, once)) and "1.0000 for 'a'" in verdict


def test_use_that_is_no_dictionary(said):
    assert "you return a list; it should be a dictionary" in said(check.exercise_3, lambda *args: [])
