"""Shapes in annotations are checked where tests ask for it."""

import jaxtyping
import pytest
import torch

from docaps.model.context.san import sparsemax
from docaps.model.layers import sinusoids


def test_a_wrong_shape_is_found_where_shapes_are_checked() -> None:
    jaxtyping.config.update("jaxtyping_disable", False)
    assert sinusoids(3, 4).shape == (3, 4)
    with pytest.raises(jaxtyping.TypeCheckError):
        sparsemax(torch.zeros(3, dtype=torch.int64))
