"""What a client may ask for: every default of the service stands here and nowhere else."""

from dataclasses import dataclass

HARDEST_BEAM = 32
"""No option makes a beam wider than this: its cost grows with its width."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one request, and on all that wait."""

    body: int = 1_000_000
    """Bytes of a request."""
    sentences: int = 2_000
    """Sentences of a request, those of the history not counted; of these, as many again may come."""
    characters: int = 5_000
    """Characters of a sentence."""
    beam: int = 16
    """Widest beam."""
    queue: int = 20_000
    """Sentences of all requests that may wait for one model."""
    seconds: float = 120.0
    """Time for one request, from its first byte to its last translation."""
    connections: int = 1_000
    """Connections at once."""


DEFAULTS = Limits()
