"""Planning: how long a story is, and where its events stand."""

from random import Random

DISTANCES = (1, 2, 3)
SHORTEST, LONGEST = 4, 12
Span = tuple[int, ...]  # the position of a cue, and those of the sentences that need it


def plan_spans(rng: Random) -> tuple[list[Span], int]:
    """Draw one to three spans, each with one to three free distances, and the length of a story that holds them."""
    shapes = [_draw_distances(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    # An opening, the sentences of the events, and now and then some more: about half of a story is labelled.
    wanted = 1 + sum(1 + len(shape) for shape in shapes) + rng.choice((0, 1, 2, 3))
    for length in range(min(max(SHORTEST, wanted), LONGEST), LONGEST + 1):
        spans = place(rng, shapes, length, set())
        if spans is not None:
            return spans, length
    return plan_spans(rng)  # three events with gaps between them may need more room than a story has


def _draw_distances(rng: Random) -> tuple[int, ...]:
    """Choose the distances at which sentences follow a cue, all three equally often."""
    return tuple(sorted(rng.sample(DISTANCES, rng.choice((1, 2, 2, 3)))))


def plan_last_span(rng: Random, distance: int) -> tuple[list[Span], int]:
    """Plan a story that ends with a labelled sentence at a given distance, and has an earlier event where one fits."""
    length = rng.choice((5, 6, 7))
    last = (length - 1 - distance, length - 1)
    others = place(rng, [_draw_distances(rng)], length - 1, set(last)) if rng.random() < 0.7 else None
    return [*(others or []), last], length


def overlap(one: Span, other: Span) -> bool:
    """Say whether two events share a stretch of the story."""
    return one[0] < other[-1] and other[0] < one[-1]


def place(rng: Random, shapes: list[tuple[int, ...]], length: int, taken: set[int]) -> list[Span] | None:
    """Find free positions for all events after the opening, at random, or None if there are none."""
    if not shapes:
        return []
    distances, *others = shapes
    spans = [(start, *(start + distance for distance in distances)) for start in range(1, length - distances[-1])]
    free = [span for span in spans if not set(span) & taken]
    for span in rng.sample(free, len(free)):
        rest = place(rng, others, length, taken | set(span))
        if rest is not None:
            return [span, *rest]
    return None
