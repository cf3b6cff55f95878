"""Finished hypotheses and their scores."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its tokens without marks, its score and its log-probability."""

    tokens: tuple[int, ...]
    score: float
    log_probability: float
    forced: bool = False
    """Whether required phrases were written only because the length limit left no choice."""


def length_penalty(length: int, alpha: float) -> float:
    """Return the divisor of a log-probability (Wu et al. 2016); the length counts the end mark."""
    return float(((5 + length) / 6) ** alpha)
