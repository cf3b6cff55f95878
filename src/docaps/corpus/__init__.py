"""Corpora: documents read from files, cut into subwords, stored as token ids."""
