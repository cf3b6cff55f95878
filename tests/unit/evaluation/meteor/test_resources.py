"""METEOR's function words are those of the Java program; other languages are refused."""

import pytest

from docaps.errors import ConfigError
from docaps.evaluation.meteor.counts import Meteor
from docaps.evaluation.meteor.resources import function_words


def test_function_words_are_the_programs() -> None:
    assert len(function_words()) == 93
    assert {"the", "said", "'s", ",", "—"} <= function_words()
    assert not {"house", "#", "haus"} & function_words()


def test_other_languages_are_refused() -> None:
    with pytest.raises(ConfigError, match="implemented for de and en, not for 'fr'"):
        Meteor("fr")
