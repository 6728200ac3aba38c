"""Other ways to cut text into subwords: BPE over words, WordPiece, Unigram (chapter 10)."""
