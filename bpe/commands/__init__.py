"""The commands of `python -m bpe`, one per file."""
