"""Dialogue: what people say, as whole sentences, for the phenomena that need it (address, ellipsis)."""

from dataclasses import dataclass
from typing import Any

from docaps.corpus.minidocs.entries import check_slots, split_pair
from docaps.corpus.minidocs.tables import naming, require

ADDRESS_FORMS = ("du", "dich", "dein", "imperative")
_SPEECH_SLOTS = {"a", "b", "city", "name", "she", "do", "has", "done", "the", "the:acc", "it:acc"}
_LEAST = 4


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence with slots as somebody says it, and its translation: one, or one for each way to translate it."""

    english: str
    german: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Title:
    """What stands before a surname: for everybody, or for women or men only."""

    english: str
    german: str
    kind: str | None = None
    avoid: str | None = None  # a profession that would be taken for the same person


@dataclass(frozen=True, slots=True)
class Addresses:
    """Ways to address somebody, and what is said to this person then, with du and with Sie."""

    surnames: tuple[str, ...]
    titles: tuple[Title, ...]
    greetings: tuple[Utterance, ...]
    informal: tuple[Utterance, ...]
    formal: tuple[Utterance, ...]
    sentences: dict[str, tuple[Utterance, ...]]  # by form


@dataclass(frozen=True, slots=True)
class Verb:
    """An English verb, and how the German perfect is made: hat gekauft, ist eingeschlafen."""

    english: str
    auxiliary: str
    participle: str


@dataclass(frozen=True, slots=True)
class Ellipses:
    """Verbs to ask for, the questions, and answers without the verb."""

    transitive: tuple[Verb, ...]
    intransitive: dict[str, tuple[Verb, ...]]  # by auxiliary
    questions: dict[str, tuple[Utterance, ...]]  # for verbs with an object, and without
    answers: dict[str, tuple[Utterance, ...]]  # positive, negative


def parse_addresses(table: dict[str, Any]) -> Addresses:
    """Read the table of du and Sie, or say what it lacks."""
    place, lists = "address.toml", ("greetings", "informal", "formal")
    require(place, table, dict.fromkeys(("surnames", "titles", *lists), _LEAST))
    require(place, table.get("sentences", {}), dict.fromkeys(ADDRESS_FORMS, _LEAST))
    with naming(place):
        return Addresses(
            surnames=tuple(table["surnames"]),
            titles=tuple(Title(**title) for title in table["titles"]),
            sentences={form: _parse_utterances(table["sentences"][form], ways=2) for form in ADDRESS_FORMS},
            **{name: _parse_utterances(table[name]) for name in lists},
        )


def parse_ellipses(table: dict[str, Any]) -> Ellipses:
    """Read the table of verbs, questions and answers, or say what it lacks."""
    place = "ellipsis.toml"
    require(place, table, {"transitive": _LEAST})
    for part, keys in (
        ("intransitive", ("hat", "ist")),
        ("questions", ("transitive", "intransitive")),
        ("answers", ("positive", "negative")),
    ):
        require(f"{place} ({part})", table.get(part, {}), dict.fromkeys(keys, _LEAST))
    with naming(place):
        return Ellipses(
            transitive=_parse_verbs(table["transitive"], "hat"),
            intransitive={verb: _parse_verbs(entries, verb) for verb, entries in table["intransitive"].items()},
            questions={name: _parse_utterances(entries) for name, entries in table["questions"].items()},
            answers={name: _parse_utterances(entries) for name, entries in table["answers"].items()},
        )


def parse_utterance(entry: list[str], ways: int = 1) -> Utterance:
    """Read ["Please come in.", "Komm bitte herein.", "Kommen Sie bitte herein."], with that many translations."""
    english, *german = entry
    if len(german) != ways:
        raise ValueError(f"{english!r} has {len(german)} translations, expected {ways}")
    for text in entry:
        check_slots(text, _SPEECH_SLOTS)
        if text[-1] not in ".?!":
            raise ValueError(f"{text!r} ends without a full stop, question mark or exclamation mark")
    return Utterance(english, tuple(german))


def _parse_utterances(entries: list[list[str]], ways: int = 1) -> tuple[Utterance, ...]:
    """Read a list of sentences."""
    return tuple(parse_utterance(entry, ways) for entry in entries)


def _parse_verbs(entries: list[str], auxiliary: str) -> tuple[Verb, ...]:
    """Read "buy: gekauft"."""
    pairs = [split_pair(entry) for entry in entries]
    return tuple(Verb(english, auxiliary, participle) for english, participle in pairs)
