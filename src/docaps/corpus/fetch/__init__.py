"""Fetching: the public corpora of the paper, from the network or from the user's own hands."""

from docaps.corpus.fetch.catalogue import KnownCorpus, find_addresses, known_corpus
from docaps.corpus.fetch.collection import Collection, collect
from docaps.corpus.fetch.download import Address, Patience

__all__ = ["Address", "Collection", "KnownCorpus", "Patience", "collect", "find_addresses", "known_corpus"]
