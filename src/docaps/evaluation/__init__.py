"""Evaluation: scores with signatures, from files and lists of sentences; no model is needed here."""
