"""A corpus of mini-documents for the tests that look at many documents."""

import pytest

from docaps.corpus.minidocs import MiniCorpus, generate_corpus

ITEMS = 180


@pytest.fixture(scope="session")
def minidocs() -> MiniCorpus:
    """Documents with all phenomena."""
    return generate_corpus(documents=3000, seed=7, dev=30, test=40, items=ITEMS)
