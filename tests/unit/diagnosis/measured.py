"""Made-up measures for tests of evidence and verdict."""

from collections.abc import Mapping, Sequence

import numpy as np

from docaps.diagnosis.evidence import ACCURACY, PERPLEXITY, Evidence, Measure, compare_all, perplexity_of, share_of

TESTS = {"draws": 300, "seed": 1}


def likelihoods(per_token: Mapping[str, float], documents: int = 40, noise: float = 0.02) -> Measure:
    """Documents of 50 tokens, each token costing about so many nats under each condition."""
    rng = np.random.default_rng(5)
    counts = {
        name: np.stack([50 * (nats + noise * rng.standard_normal(documents)), np.full(documents, 50.0)], axis=1)
        for name, nats in per_token.items()
    }
    return Measure(PERPLEXITY, counts, perplexity_of)


def choices(right: Mapping[str, float], documents: int = 40) -> Measure:
    """Documents of 10 items, about so many of them right under each condition."""
    rng = np.random.default_rng(6)
    counts = {
        name: np.stack([rng.binomial(10, share, documents).astype(float), np.full(documents, 10.0)], axis=1)
        for name, share in right.items()
    }
    return Measure(ACCURACY, counts, share_of)


def evidence(measures: Sequence[Measure], history: int = 2, frequencies: float = 100.0) -> Evidence:
    return Evidence(measures, compare_all(measures, history, **TESTS), history, frequencies)
