"""Planning: how long a story is, and where its events stand."""

from random import Random

DISTANCES = (1, 2, 3)
SHORTEST, LONGEST = 4, 12
Span = tuple[int, int]  # the positions of a cue and of the sentence that needs it


def plan_spans(rng: Random) -> tuple[list[Span], int]:
    """Draw one to four spans with free distances, and the length of a story that holds them."""
    count = rng.choice((1, 2, 3, 4))
    distances = [rng.choice(DISTANCES) for _ in range(count)]
    # An opening, two sentences for each event, and now and then some more: about a third of a story is labelled.
    wanted = max(SHORTEST, 1 + 2 * count + rng.choice((0, 0, 1, 2, 3)))
    for length in range(min(wanted, LONGEST), LONGEST + 1):
        spans = place(rng, distances, length, set())
        if spans is not None:
            return spans, length
    raise AssertionError(f"no story of {LONGEST} sentences holds events at the distances {distances}")


def plan_last_span(rng: Random, distance: int) -> tuple[list[Span], int]:
    """Plan a story that ends with a labelled sentence at a given distance, and has an earlier event where one fits."""
    length = rng.choice((5, 6, 7))
    last = (length - 1 - distance, length - 1)
    others = place(rng, [rng.choice(DISTANCES)], length - 1, set(last)) if rng.random() < 0.5 else None
    return [*(others or []), last], length


def place(rng: Random, distances: list[int], length: int, taken: set[int]) -> list[Span] | None:
    """Find free positions for all distances after the opening, at random, or None if there are none."""
    if not distances:
        return []
    distance, *others = distances
    starts = [s for s in range(1, length - distance) if not {s, s + distance} & taken]
    for start in rng.sample(starts, len(starts)):
        rest = place(rng, others, length, taken | {start, start + distance})
        if rest is not None:
            return [(start, start + distance), *rest]
    return None
