"""All systems with both places of the norm, and with one or three tables of word vectors."""

from itertools import product

import pytest
from tests.invariants import tiny

from docaps.config import SystemSettings
from docaps.model.interface import TranslationModel

VARIANTS = list(product(tiny.SYSTEMS, ("pre", "post"), ("shared", "separate")))


@pytest.fixture(params=VARIANTS, ids=["-".join(variant) for variant in VARIANTS])
def system(request: pytest.FixtureRequest) -> SystemSettings:
    name, norm, embeddings = request.param
    return tiny.settings(name, norm=norm, embeddings=embeddings)


@pytest.fixture
def model(system: SystemSettings) -> TranslationModel:
    return tiny.build(system)
