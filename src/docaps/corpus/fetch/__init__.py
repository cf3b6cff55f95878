"""Fetching the public corpora of the paper, from the network or from files put in place by hand."""

from docaps.corpus.fetch.catalogue import KnownCorpus, find_addresses, known_corpus
from docaps.corpus.fetch.collection import Collection, collect
from docaps.corpus.fetch.download import RemoteFile, RetryPolicy

__all__ = ["Collection", "KnownCorpus", "RemoteFile", "RetryPolicy", "collect", "find_addresses", "known_corpus"]
