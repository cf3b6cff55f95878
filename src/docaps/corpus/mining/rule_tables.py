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

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, ignored_types=(cached_property,))


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
    """Words of the source whose translations look like an address."""
    informal: str
    plural: str | None = None
    formal: str
    words: dict[str, dict[str, Texts]]
    """Words of each form: `subject`, `reflexive` (also objects), `possessive`; and what else shows the form."""
    polite_capitals: bool = False
    """Whether the formal words are told from others by their capital."""
    possessives: dict[str, dict[str, str]]
    """Possessives of each form by those of the formal one."""
    verbs: tuple[tuple[str, str, str], ...]
    """Finite verbs: informal, formal, plural."""
    imperatives: WordSet = frozenset()
    no_verbs: WordSet = frozenset()
    """Words that end as informal verbs do and are none."""
    informal_verb: re.Pattern[str]
    subjects: WordSet
    """Other subjects: beside them a formal pronoun is the object."""


class EllipsisRules(_Rules):
    """Where the source leaves a verb out and the target repeats it."""

    source: re.Pattern[str]
    """An auxiliary without its verb, in lower-case words with blanks between."""
    verbs: re.Pattern[str]
    """Forms of target verbs."""
    no_verbs: WordSet
    longest: int = 12
    """Words of the longest sentence that is looked at."""


class RepetitionRules(_Rules):
    """Which words are compared when two translations of the same word are searched."""

    source_word: re.Pattern[str]
    target_word: re.Pattern[str]
    no_words: WordSet = frozenset()


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
