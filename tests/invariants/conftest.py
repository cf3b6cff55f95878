"""All systems with both norms and shared or separate embeddings, and every option of the method."""

from itertools import cycle, product

import pytest
from tests.invariants import tiny

from docaps.config import SystemSettings
from docaps.model.interface import TranslationModel

RIVALS = ("zhang", "han", "san", "concat", "qcn-shuffled", "qcn-noise")
SHAPES = tuple(product(("pre", "post"), ("shared", "separate")))
VARIANTS = (
    {
        "-".join((name, *shape)): tiny.settings(name, norm=shape[0], embeddings=shape[1])
        for name in tiny.SYSTEMS
        for shape in (SHAPES if name not in RIVALS else (SHAPES[0], SHAPES[-1]))
    }
    | {
        f"qcn+reg-{norm}-{name}": tiny.settings("qcn+reg", norm=norm, **options)
        for (name, options), norm in zip(tiny.OPTIONS.items(), cycle(("pre", "post")), strict=False)
    }
    | {f"{name}-marian": tiny.settings(name, **tiny.MARIAN) for name in tiny.SYSTEMS}
    | {f"qcn-{name}": tiny.settings("qcn", **form) for name, form in tiny.FORMS.items()}
    | {
        f"{name}-{norm}": tiny.mode(name, norm=norm)
        for name, norm in zip(tiny.MODES, cycle(("pre", "post")), strict=False)
    }
)


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def system(request: pytest.FixtureRequest) -> SystemSettings:
    found = request.param
    assert isinstance(found, SystemSettings)
    return found


@pytest.fixture
def model(system: SystemSettings) -> TranslationModel:
    return tiny.build(system)
