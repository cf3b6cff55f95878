"""All systems with both places of the norm and one or three tables of word vectors, and every option of the method."""

from itertools import cycle, product

import pytest
from tests.invariants import tiny

from docaps.config import SystemSettings
from docaps.model.interface import TranslationModel

VARIANTS = {
    "-".join(variant): tiny.settings(variant[0], norm=variant[1], embeddings=variant[2])
    for variant in product(tiny.SYSTEMS, ("pre", "post"), ("shared", "separate"))
} | {
    f"qcn+reg-{norm}-{name}": tiny.settings("qcn+reg", norm=norm, **options)
    for (name, options), norm in zip(tiny.OPTIONS.items(), cycle(("pre", "post")), strict=False)
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def system(request: pytest.FixtureRequest) -> SystemSettings:
    found = request.param
    assert isinstance(found, SystemSettings)
    return found


@pytest.fixture
def model(system: SystemSettings) -> TranslationModel:
    return tiny.build(system)
