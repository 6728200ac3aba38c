"""What a tokenizer does to a text, in numbers: chapter 11.

    measure        encode a text and count
    statistics     how evenly tokens are used, and how long they are
    tables         measurements side by side: languages, tables and bars

Everything here takes functions, from text to ids and from ids to text, so it works with the tokenizers of
this module and with those of any library:

    measure(text, tokenizer.encode, tokenizer.decode)                    # ours, tiktoken's, sentencepiece's
    def ids(text): return tokenizer.encode(text, add_special_tokens=False).ids
    measure(text, ids, tokenizer.decode)                                 # those of tokenizers

`encode` should put nothing around a text: with [CLS] and the like, no word is a single token.

A ratio says nothing without the text it was measured on; take one that the tokenizer did not learn from.
"""

from bpe.metrics.measure import Measurement, measure, words
from bpe.metrics.statistics import ALPHA, renyi_efficiency, token_lengths
from bpe.metrics.tables import COLUMNS, compare, plot, premiums, table

__all__ = [
    "ALPHA",
    "COLUMNS",
    "Measurement",
    "compare",
    "measure",
    "plot",
    "premiums",
    "renyi_efficiency",
    "table",
    "token_lengths",
    "words",
]
