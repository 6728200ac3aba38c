"""The checks of chapter 11: right answers, empty ones, and the usual mistakes."""

from __future__ import annotations

import pytest
from answers import assert_no_answer_is_known

from bpe import BPETokenizer
from bpe.checks import chapter_11 as check


@pytest.mark.parametrize("number", [1, 2, 3])
def test_stub_and_exception(said, number):
    assert_no_answer_is_known(said, check, number)
    assert said(getattr(check, f"exercise_{number}"), ...) == f"exercise {number}: not started"


# -- exercise 1 --------------------------------------------------------------------------------------------


def fitting(encode, sentences, num_tokens):
    for number, sentence in enumerate(sentences):
        num_tokens -= len(encode(sentence))
        if num_tokens < 0:
            return number
    return len(sentences)


def test_fitting(said):
    assert said(check.exercise_1, fitting) == "exercise 1: correct"


def test_a_shorter_sentence_slips_in(said):
    def leaves_out(encode, sentences, num_tokens):
        number = 0
        for sentence in sentences:
            if len(encode(sentence)) <= num_tokens:
                num_tokens -= len(encode(sentence))
                number += 1
        return number

    hint = said(check.exercise_1, leaves_out)
    assert (
        "have [2, 6, 1] tokens, so the number that fits into 4, from the first on, is 1; you return 2" in hint
    )


def test_fitting_by_characters(said):
    hint = said(check.exercise_1, lambda encode, sentences, n: fitting(list, sentences, n))
    assert "have [3, 2] tokens, so the number that fits into 4, from the first on, is 1" in hint


def test_a_full_context(said):
    hint = said(check.exercise_1, lambda encode, sentences, n: fitting(encode, sentences, n - 1))
    assert "so the number that fits into 5, from the first on, is 2; you return 1" in hint


def test_sentences_that_are_joined(said):
    def joined(encode, sentences, num_tokens):
        starts = range(len(sentences) + 1)
        return max(k for k in starts if len(encode("".join(sentences[:k]))) <= num_tokens)

    assert "have [1, 1, 1] tokens, so the number that fits into 2, from the first on, is 2" in said(
        check.exercise_1, joined
    )


# -- exercise 2 --------------------------------------------------------------------------------------------


def bytes_per_token(lines, encode, decode):
    number = sum(len(encode(line)) for line in lines)
    if not number:
        raise ValueError("no tokens")
    return sum(len(line.encode("utf-8")) for line in lines) / number


def test_bytes_per_token(said):
    assert said(check.exercise_2, bytes_per_token) == "exercise 2: correct"


def test_each_fault_is_found(said):
    def mean_of_ratios(lines, encode, decode):
        ratios = [len(line.encode()) / len(encode(line)) for line in lines if line]
        return sum(ratios) / len(ratios)

    def different_ids(lines, encode, decode):
        return sum(len(x.encode()) for x in lines) / sum(len(set(encode(x))) for x in lines)

    def of_characters(lines, encode, decode):
        return sum(map(len, lines)) / sum(len(encode(line)) for line in lines)

    def of_what_came_back(lines, encode, decode):
        lengths = [len(decode(encode(line)).encode()) for line in lines]
        return sum(lengths) / sum(len(encode(line)) for line in lines)

    assert "['abab', 'ccc'] have 7 bytes in 4 tokens; you return 2.5" in said(
        check.exercise_2, mean_of_ratios
    )
    assert "['aab', 'cc'] have 5 bytes in 5 tokens; you return 1.667" in said(check.exercise_2, different_ids)
    assert "['月ab'] have 5 bytes in 4 tokens; you return 0.75" in said(check.exercise_2, of_characters)
    assert "['a月', 'b'] have 5 bytes in 3 tokens; you return 1" in said(check.exercise_2, of_what_came_back)


def test_the_faulty_function_of_the_chapter(said):
    def faulty(lines, encode, decode):
        ratios = []
        for line in lines:
            ids = encode(line)
            ratios.append(len(decode(ids)) / len(set(ids)))
        return sum(ratios) / len(ratios)

    assert "you return 1.75" in said(check.exercise_2, faulty)


def test_no_tokens(said):
    def divides(lines, encode, decode):
        return sum(len(line.encode()) for line in lines) / sum(len(encode(line)) for line in lines)

    def zero(lines, encode, decode):
        return bytes_per_token(lines, encode, decode) if any(lines) else 0.0

    def nothing(lines, encode, decode):
        return bytes_per_token(lines, encode, decode) if any(lines) else None

    for answer, outcome in (
        (divides, "your code raised ZeroDivisionError"),
        (zero, "you return 0.0"),
        (nothing, "your code returned None"),
    ):
        hint = said(check.exercise_2, answer)
        assert f"lines [], which have no tokens, it should raise ValueError, but {outcome}" in hint


def test_no_number(said):
    assert "it should be a number" in said(check.exercise_2, lambda *given: "1.0")
    assert "you return nan" in said(check.exercise_2, lambda *given: float("nan"))


# -- exercise 3 --------------------------------------------------------------------------------------------


def length(tokenizer, text, number, split=True):
    tokens = tokenizer.vocabulary[: 256 + number]
    return len(
        BPETokenizer(tokens, tokenizer.merges[:number], tokenizer.split if split else None).encode(text)
    )


def fewest_merges(tokenizer, text, limit, split=True):
    low, high = 0, len(tokenizer.merges)
    if length(tokenizer, text, high, split) > limit:
        raise ValueError("not enough")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if length(tokenizer, text, middle, split) <= limit else (middle + 1, high)
    return low


def test_fewest_merges(said):
    assert said(check.exercise_3, fewest_merges) == "exercise 3: correct"


def test_trying_every_number(said):
    def tries(tokenizer, text, limit):
        for number in range(len(tokenizer.merges) + 1):
            if length(tokenizer, text, number) <= limit:
                return number
        raise ValueError("not enough")

    assert said(check.exercise_3, tries) == "exercise 3: correct"


def test_usual_mistakes(said):
    def all_of_them(tokenizer, text, limit):
        return len(tokenizer.merges)

    def below(tokenizer, text, limit):
        return fewest_merges(tokenizer, text, limit - 1)

    def without_error(tokenizer, text, limit):
        try:
            return fewest_merges(tokenizer, text, limit)
        except ValueError:
            return len(tokenizer.merges)

    def with_bytes(tokenizer, text, limit):
        return 256 + fewest_merges(tokenizer, text, limit)

    assert "a limit of 20 you return 16, but fewer merges are enough" in said(check.exercise_3, all_of_them)
    assert "fewer merges are enough" in said(check.exercise_3, below)
    assert ": raise ValueError" in said(check.exercise_3, without_error)
    assert "it should be a number from 0 to 16" in said(check.exercise_3, with_bytes)
    assert "you return 0, but 0 merges leave 19 tokens" in said(check.exercise_3, lambda *given: 0)


def test_the_split_is_forgotten(said):
    hint = said(check.exercise_3, lambda *given: fewest_merges(*given, split=False))
    assert "with the pattern '(?:ca)'" in hint


def test_an_error_where_there_is_an_answer(said):
    def refuses(tokenizer, text, limit):
        raise ValueError("too hard")

    assert "you raise ValueError (too hard), but 0 merges give 19 tokens" in said(check.exercise_3, refuses)
