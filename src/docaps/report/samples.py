"""Sample documents: the source, each run's translation and the reference side by side, differences marked."""

from collections.abc import Sequence

from docaps.report.comparison import ComparedDocument, ComparedSentence, Stretch, Verdict, choose_documents
from docaps.report.figures import run_key
from docaps.report.markup import Markup, element, join
from docaps.report.table import code_list
from docaps.runs.results import Label, RunResults
from docaps.runs.wording import count, describe_system, label_runs, name_seeds, sentence_case

_TITLES = {
    Verdict.RIGHT: "the translations differ here; this one agrees with the reference",
    Verdict.WRONG: "the translations differ here; this one does not agree with the reference",
}
_ALONE = "does not agree with the reference"


def samples_section(every: Sequence[RunResults], *, detailed: int | None = None) -> Markup:
    """Show up to five documents, those the first `detailed` runs translate most differently first."""
    results = every[:detailed]
    translated = [(index, run) for index, run in enumerate(results) if run.translations]
    missing = [f"{run.name}/assessment/translations.jsonl" for run in results if not run.translations]
    documents, labels = choose_documents(results), label_runs(results)
    parts = [element("h2", "Sample documents", id="samples-heading")]
    if documents:
        parts += [_introduction(len(translated), len(documents), len(translated[0][1].translations))]
        heads = [_run_heading(run, index, every, results) for index, run in translated]
        parts += [_document(document, heads, [labels[index] for index, _ in translated]) for document in documents]
    elif translated:
        parts.append(element("p", "The runs have no translated document in common.", class_="missing"))
    if missing:
        parts.append(element("p", "Not found: ", code_list(missing), ".", class_="note missing"))
    return element("section", *parts, id="samples", aria_labelledby="samples-heading")


def _introduction(runs: int, shown: int, documents: int) -> Markup:
    choice = "that the first and the last run translate most differently" if runs > 1 else "furthest from the reference"
    which = f"The {shown} of {count(documents, 'document')} {choice}. " if shown < documents else ""
    right, wrong = (element("mark", word, class_=word) for word in ("right", "wrong"))
    if runs == 1:
        return element("p", which, "Words that do not agree with the reference are marked ", wrong, ".")
    return element(
        "p",
        f"{which}Words in which the translations differ are marked ",
        right,
        " (straight line) where they agree with the reference, ",
        wrong,
        " (wavy line) where they do not. Unmarked words are the same in all translations.",
    )


def _document(document: ComparedDocument, heads: Sequence[Markup], labels: Sequence[str]) -> Markup:
    headings = [element("th", "Source", scope="col"), *heads, element("th", "Reference", scope="col")]
    names = ["Source", *labels, "Reference"]
    rows = [_sentence(sentence, names, alone=len(labels) == 1) for sentence in document.sentences]
    table = element(
        "table",
        element("caption", _caption(document)),
        element("thead", element("tr", *headings)),
        element("tbody", *rows),
        class_="sample",
        style=f"--columns:{len(headings)}",
    )
    return element("div", table, class_="scroll", data_scroll=f"Document {document.id}")


def _run_heading(run: RunResults, index: int, every: Sequence[RunResults], shown: Sequence[RunResults]) -> Markup:
    """Name a run, with its seed where the page has several and the label does not tell it."""
    words = element("span", run_key(index), sentence_case(describe_system(run.system)), class_="system")
    label, seed = label_runs(shown)[index], name_seeds(every, [run])
    said = label if label.endswith(seed) else f"{label}{seed}"
    return element("th", words, element("span", said, class_="quiet"), scope="col")


def _caption(document: ComparedDocument) -> Markup:
    first, last = document.sentences[0].number, document.sentences[-1].number
    part = f", sentences {first} to {last} of {document.length}" if last - first + 1 < document.length else ""
    differences = f" {count(document.differences, 'differing word')}"
    return join([element("b", f"Document {document.id}"), part, element("span", differences, class_="quiet")])


def _sentence(sentence: ComparedSentence, names: Sequence[str], *, alone: bool) -> Markup:
    number = element("span", str(sentence.number), class_="number")
    tag = _tag(sentence.label) if sentence.label else Markup()
    cells = [join([number, element("span", sentence.source), " ", tag])]
    cells += [_marked(words, alone=alone) for words in sentence.translations]
    cells.append(element("span", sentence.reference))
    return element(
        "tr",
        *[element("td", cell, data_label=name) for cell, name in zip(cells, names, strict=True)],
        class_="differs" if sentence.differs else None,
    )


def _tag(label: Label) -> Markup:
    back = f"{label.distance} back"
    return element("span", label.phenomenon, element("span", back), class_="tag")


def _marked(words: Sequence[Stretch], *, alone: bool) -> Markup:
    return element("span", *[_stretch(stretch, alone) for stretch in words])


def _stretch(stretch: Stretch, alone: bool) -> str:
    if stretch.verdict is Verdict.SAME:
        return stretch.text
    title = _ALONE if alone else _TITLES[stretch.verdict]
    return element("mark", stretch.text, class_=stretch.verdict.value, title=title)
