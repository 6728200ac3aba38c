"""The commands of `python -m bpe`, one a file."""
