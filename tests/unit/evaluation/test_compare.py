"""Documents that differ in shape from the reference are refused."""

from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.errors import CorpusError
from docaps.evaluation.compare import check_same_shape


def test_documents_of_another_shape_are_refused_at_the_first_difference() -> None:
    one, two = Document(("a",)), Document(("a", "b"))
    path = Path("x.de")
    check_same_shape([one, two], [one, two], path=path)
    with pytest.raises(CorpusError) as caught:
        check_same_shape([one, two, one], [one, one, two], path=path)
    assert str(caught.value) == "x.de: document 2 has 2 translated sentences, but 1 in the reference"
    with pytest.raises(CorpusError) as caught:
        check_same_shape([one], [one, two], path=path)
    assert str(caught.value) == "x.de: 1 translated documents, but 2 in the reference"
