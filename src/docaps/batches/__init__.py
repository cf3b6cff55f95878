"""Batches: a sentence with its history, padded and cut to a token budget."""
