"""Sentences of our own, and worse versions of them."""

import random

from docaps.corpus.documents import Document

STORY = [
    "Der alte Mann sah das kleine Haus am Fluss.",
    "Es gehörte seiner Schwester, die 1998 nach Köln zog.",
    "Die Tür war (wie immer) offen, und das Licht brannte.",
    "„Komm herein“, rief sie, „der Tee ist fertig!“",
    "Er setzte sich ans Fenster und trank eine Tasse Tee.",
    "Draußen fuhr ein Boot mit zwei Kindern vorbei.",
    "Sie winkten ihm zu, und er winkte zurück.",
    "Am Abend kostete der Fisch nur noch 3,50 Euro.",
]


def disturb(sentence: str, seed: int, share: float) -> str:
    """Drop and swap some words."""
    generator = random.Random(f"{seed} {sentence}")
    words = [word for word in sentence.split() if generator.random() > share]
    if len(words) > 3 and generator.random() < 2 * share:
        words[1], words[2] = words[2], words[1]
    return " ".join(words)


def documents(count: int, sentences: int, *, seed: int = 0, share: float = 0.0) -> list[Document]:
    """Make documents from the story, disturbed; the same seed gives the same places."""
    lines = [STORY[number % len(STORY)] + f" Tag {number}." for number in range(count * sentences)]
    texts = [disturb(line, seed, share) for line in lines]
    return [Document(tuple(texts[start : start + sentences])) for start in range(0, len(texts), sentences)]
