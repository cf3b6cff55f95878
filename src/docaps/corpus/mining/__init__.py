"""Mining: finding in any parallel corpus the sentences whose translation an earlier sentence decides."""

from docaps.corpus.mining.mining import Mined, MiningOptions, annotate_split, mine_documents, mine_store

__all__ = ["Mined", "MiningOptions", "annotate_split", "mine_documents", "mine_store"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__
