"""The rules of a language pair, read from a TOML table of this package: what decides, and what must not be mistaken."""

import re
import tomllib
from functools import cached_property
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from docaps.errors import ConfigError

Texts = tuple[str, ...]
WordSet = frozenset[str]
NEVER = re.compile(r"(?!)")


class _Rules(BaseModel):
    """A table of rules; an unknown key is a fault."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, ignored_types=(cached_property,)
    )


class NounRules(_Rules):
    """How to find nouns and their gender in the target language."""

    capitalised: bool
    """Whether nouns begin with a capital; else the word after an article is one."""
    compounds: bool = False
    articles: dict[str, Texts]
    """Genders that a singular noun after this article can have."""
    telling: dict[str, str]
    """Articles that tell the gender when it is learnt, also of a plural that looks like them in rare cases."""
    certain: dict[str, str] = Field(default_factory=dict)
    """Articles that tell the gender of a single noun without doubt."""
    endings: dict[str, Texts] = Field(default_factory=dict)
    """Ends of nouns, by gender."""
    inflections: dict[str, str] = Field(default_factory=dict)
    """Endings that make a form of a noun: `singular` for a case, or `plural`."""
    no_article_after: WordSet = frozenset()
    """After these words, what looks like an article is a pronoun."""
    adjective_endings: Texts = ("",)
    adjectives: WordSet = frozenset()
    """Adjectives that stand before nouns, where capitals do not tell them apart."""
    no_nouns: WordSet = frozenset()
    people: WordSet = frozenset()
    """Nouns that the pronoun of a thing does not stand for."""
    people_endings: Texts = ()


class PronounRules(_Rules):
    """Which target pronouns a source pronoun has by gender, and when a rule keeps away."""

    source: str
    forms: dict[str, dict[str, str]]
    """By case and gender."""
    subject_case: str
    object_case: str
    blocking_source: WordSet
    """A source with one of these words is left out: the target pronoun may stand for them."""
    blocking_plural: WordSet = frozenset()
    """The same, where the target pronoun is one of `plural` too."""
    plural: WordSet = frozenset()
    dummies: re.Pattern[str] = NEVER
    """Where the source pronoun stands for nothing, in lower-case words with blanks between."""
    blocking_target: re.Pattern[str] = NEVER
    """Where other words agree with the pronoun, or it is more than one."""
    plural_verb: re.Pattern[str]
    singular_verb: re.Pattern[str]
    other_subjects: WordSet = frozenset()
    conjunctions: WordSet = frozenset()
    openers: WordSet = frozenset()
    """First words of a main clause that are no subject: verb and subject follow."""
    strict: WordSet = frozenset()
    """Pronouns that are mostly dummies: taken only at the beginning, and where both patterns below agree."""
    strict_source: re.Pattern[str] = NEVER
    strict_dummies: re.Pattern[str] = NEVER

    @cached_property
    def pronouns(self) -> WordSet:
        """All target pronouns."""
        return frozenset(word for forms in self.forms.values() for word in forms.values())


class AddressRules(_Rules):
    """Formal and informal address of the target language, and how one is turned into the other."""

    source: WordSet
    """Words that address somebody."""
    blocking_source: WordSet
    """Words of the source whose translations may look like an address."""
    forms: dict[str, "FormRules"]
    """By the label of the form; the verbs are in this order."""
    verbs: tuple[Texts, ...]
    """Finite verbs: one of each form."""
    subjects: WordSet
    """Other subjects: beside them, a pronoun that can be subject or object is the object."""
    statements: WordSet
    """Words that show that a sentence is no request."""
    conjunctions: WordSet = frozenset()
    """After them, the verb is at the end of the clause."""
    between: WordSet | None = None
    """Words between a subject and the verb that always follows it; None: the verb is before it, or as above."""


class FormRules(_Rules):
    """The words of one form of address."""

    subject: str
    objects: dict[str, str]
    """By case, as `accusative`, `dative`."""
    reflexives: dict[str, str]
    possessives: Texts
    """In the same order for each form."""
    capitals: bool = False
    """Whether the words begin with a capital inside sentences, too."""
    formal: bool = False
    becomes: str
    """The form that a wrong translation has."""
    verb: re.Pattern[str]
    """What a finite verb looks like that follows the subject at the beginning of a sentence."""
    stray: re.Pattern[str] = NEVER
    """What looks like a verb of this form: each such word must be in the table of verbs, or be none."""
    no_verbs: WordSet = frozenset()
    blocking: re.Pattern[str] = NEVER
    """Where no wrong translation is made, in lower-case words with blanks between."""


class EllipsisRules(_Rules):
    """Where the source leaves a verb out after its auxiliary, and the target repeats one of an earlier sentence."""

    source: re.Pattern[str]
    """The end of a sentence without its verb, in lower-case words with blanks between."""
    verbs: dict[str, Texts]
    """Verbs with one form for each person, in the same order."""
    wrong: dict[str, Texts]
    """For each verb those that would be wrong in its place; a verb without entry is not searched."""
    persons: dict[str, tuple[int, ...]]
    """Subjects, and the numbers of the forms that they can have."""
    fillers: WordSet
    """Words that may stand beside verb and subject; another one may be the verb that an auxiliary needs."""
    longest: int = 12
    """Words and marks of the longest source sentence."""


class RepetitionRules(_Rules):
    """Which words are counted to find words with two translations of the same gender."""

    source_word: re.Pattern[str]
    target_word: re.Pattern[str]
    no_words: WordSet = frozenset()
    """Source words with a meaning for each translation, or that are counted by mistake."""


class Rules(_Rules):
    """All rules of a language pair; a phenomenon without a table is not searched."""

    note: str = ""
    nouns: NounRules
    pronoun: PronounRules | None = None
    formality: AddressRules | None = None
    ellipsis: EllipsisRules | None = None
    repetition: RepetitionRules | None = None


def list_pairs() -> list[str]:
    """List the language pairs that have rules."""
    return sorted(one.name.removesuffix(".toml") for one in files(__package__).iterdir() if one.name.endswith(".toml"))


def load_rules(source: str, target: str) -> Rules:
    """Read the rules of a language pair."""
    name = f"{source}-{target}"
    if name not in list_pairs():
        message = f"no rules for {source} to {target}: there are {', '.join(list_pairs())}"
        raise ConfigError(f"{message}; give --run RUN, which needs none")
    return parse_rules(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"), name)


def parse_rules(text: str, name: str) -> Rules:
    """Read rules from the text of a table."""
    try:
        return Rules.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as fault:
        raise ConfigError(f"the rules {name} cannot be used: {fault}") from None
