"""Documents of the input are collected into windows: full ones, prompt ones, and whole documents where needed."""

import pytest

from docaps.corpus.documents import TextLayout
from docaps.corpus.formats.text_input import Arrival
from docaps.translation.jobs import InputDocument, gather


def documents(*sizes: int, continuing: tuple[int, ...] = ()) -> list[InputDocument]:
    return [
        InputDocument(("x",) * size, layout=TextLayout("lines", continues=number in continuing))
        for number, size in enumerate(sizes)
    ]


def sizes(windows: list[list[InputDocument]]) -> list[list[int]]:
    return [[len(one.sentences) for one in window] for window in windows]


def test_a_window_ends_when_it_is_full_or_the_input_pauses() -> None:
    class Pausing(Arrival):
        def enough(self, sentences: int) -> bool:
            return sentences > 4

    assert sizes(list(gather(documents(1, 2, 3, 4, 1), Arrival(3)))) == [[1, 2], [3], [4], [1]]
    assert sizes(list(gather(documents(1, 2, 3, 4, 1), Pausing(100)))) == [[1, 2, 3], [4, 1]]


@pytest.mark.parametrize(("whole", "expected"), [(False, [[2], [2], [1, 2], [2]]), (True, [[2, 2, 1], [2], [2]])])
def test_a_window_of_whole_documents_ends_with_a_document(whole: bool, expected: list[list[int]]) -> None:
    found = gather(documents(2, 2, 1, 2, 2, continuing=(1, 2)), Arrival(2), whole=whole)
    assert sizes(list(found)) == expected
