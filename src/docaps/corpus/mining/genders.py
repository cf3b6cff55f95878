"""The gender of nouns, learnt from the articles of the corpus itself: no dictionary and no parser is needed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from docaps.corpus.mining.rule_tables import NounRules
from docaps.corpus.mining.sentences import Words

CERTAINTY = 4
"""The articles of one gender must be this many times as frequent as those of any other."""
SINGULAR, PLURAL = "singular", "plural"
SHORTEST_HEAD = 4
"""Letters of the last part of a compound that decides its gender."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A singular noun of known gender, with its article, in a sentence."""

    place: int
    gender: str
    words: str


@dataclass(slots=True)
class Genders:
    """The gender of nouns by the articles they were seen with, by the end of the word, or by the head of a compound."""

    rules: NounRules
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)

    def add(self, counts: Mapping[str, Counter[str]]) -> None:
        """Add counts of articles that tell the gender, by noun."""
        for noun, genders in counts.items():
            self.counts.setdefault(noun, Counter()).update(genders)
        self.known.clear()

    def settle(self) -> None:
        """Forget the counts that decide nothing: a table for other processes should be small."""
        self.counts = {noun: Counter({found: 2}) for noun in self.counts if (found := self._counted(noun))}

    def gender(self, noun: str) -> str | None:
        """Return the gender of a noun, if it is known."""
        if noun not in self.known:
            self.known[noun] = (
                self._counted(noun) or self._by_ending(noun) or self._inflected(noun) or self._by_head(noun)
            )
        return self.known[noun]

    def _counted(self, noun: str) -> str | None:
        """Return the gender that most articles tell."""
        best = self.counts.get(noun, Counter()).most_common(2)
        if not best or (len(best) > 1 and best[0][1] < CERTAINTY * best[1][1]):
            return None
        return best[0][0] if best[0][1] >= 2 else None

    def _by_ending(self, noun: str) -> str | None:
        """Return the gender that the end of a word tells."""
        for gender, endings in self.rules.endings.items():
            if any(noun.endswith(ending) and len(noun) > len(ending) + 1 for ending in endings):
                return gender
        return None

    def _inflected(self, noun: str) -> str | None:
        """Return the gender of a noun in the genitive, or PLURAL, if without its ending it is a noun that was seen."""
        for ending, number in self.rules.inflections.items():
            base = noun.removesuffix(ending)
            if base != noun and (found := self._counted(base) or self._by_ending(base)):
                return found if number == SINGULAR else PLURAL
        return None

    def _by_head(self, noun: str) -> str | None:
        """Return the gender of the longest end of a compound that is a noun itself."""
        if not self.rules.compounds:
            return None
        for start in range(1, len(noun) - SHORTEST_HEAD + 1):
            if found := self._counted(noun[start:].capitalize()):
                return found
        return None

    def mentions(self, sentence: Words) -> Iterator[Mention]:
        """Yield the singular nouns of known gender that fits their article; people are left out."""
        for start, place in noun_phrases(sentence, self.rules):
            noun, article = sentence.forms[place], sentence.lower[start]
            if article not in self.rules.articles or self._is_person(noun):
                continue
            gender = self.rules.certain.get(article) or self.gender(noun)
            if gender is not None and gender in self.rules.articles[article]:
                yield Mention(place, gender, " ".join(sentence.forms[start : place + 1]))

    def may_hold(self, sentence: Words, gender: str, end: int | None = None) -> bool:
        """Return whether a noun before `end` may have this gender: also one without article, or of unknown gender."""
        if not self.rules.capitalised:
            return any(one.gender == gender and (end is None or one.place < end) for one in self.mentions(sentence))
        for place, form in enumerate(sentence.forms[:end]):
            if (
                form[0].isupper()
                and len(form) > 1
                and form.lower() not in self.rules.no_nouns | self.rules.articles.keys()
            ):
                found = self.gender(form)
                if found == gender or (found is None and not sentence.begins(place) and not self._is_person(form)):
                    return True
        return False

    def _is_person(self, noun: str) -> bool:
        return noun in self.rules.people or any(noun.endswith(ending) for ending in self.rules.people_endings)


def noun_phrases(sentence: Words, rules: NounRules) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the article and of the noun of each phrase: article, adjectives, noun."""
    for start in sentence.places(rules.articles):
        if start and sentence.lower[start - 1] in rules.no_article_after:
            continue
        for place in range(start + 1, min(start + 5, len(sentence))):
            form = sentence.forms[place]
            if _is_noun(form, rules):
                yield start, place
                break
            if form.lower() in rules.articles or not form.isalpha() or not form.endswith(rules.adjective_endings):
                break


def _is_noun(form: str, rules: NounRules) -> bool:
    if not form.isalpha() or form.lower() in rules.no_nouns:
        return False
    return form[0].isupper() if rules.capitalised else form not in rules.adjectives


def count_articles(sentences: Iterable[Words], rules: NounRules) -> dict[str, Counter[str]]:
    """Count for each noun the articles that tell its gender."""
    found: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for start, place in noun_phrases(sentence, rules):
            compound = place + 1 < len(sentence) and sentence.forms[place + 1] == "-"
            if (gender := rules.telling.get(sentence.lower[start])) and not compound:
                found.setdefault(sentence.forms[place], Counter())[gender] += 1
    return found
