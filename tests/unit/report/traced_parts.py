"""The parts of a page that show files as they are: diagnoses, samples, routing, data, circumstances."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.unit.report.page_reading import Node, cells, numbers, rows_of, tidy

PAPER_DATA = {
    "Training": ["206 126", "121.39", "236 287", "38.93", "1 666 904", "14.14"],
    "Development": ["8 967", "96.42", "2 169", "26.78", "3 587", "14.95"],
    "Test": ["2 271", "98.74", "2 999", "19.35", "5 134", "14.26"],
}
"""The paper's Table 1, typed once more."""
PARTS = {"Training": "train", "Development": "dev", "Test": "test"}
BACK = {"One": 1, "Two": 2, "Three": 3}


def trace_data(tree: Node, told: Any) -> None:
    """The sizes of the corpora."""
    section = tree.place("data")
    if section is None:
        return
    data = next(found["data"]["parts"] for run in told.runs if (found := run.read("results.json")))
    for row in section.one("tbody").all("tr"):
        name, *found = [cell.text for cell in cells(row)]
        own = data[PARTS[name]]
        sizes = [f"{own[key]:,}".replace(",", " ") for key in ("documents", "sentences")]
        assert found == [*sizes, f"{own['average']:.2f}", *PAPER_DATA[name]]
    section.one("table").traced = True


def trace_diagnoses(tree: Node, told: Any) -> None:
    """Every diagnosis, in the order of the page."""
    section = tree.place("diagnosis")
    if section is None:
        return
    tables = section.all("table", "conditions")
    names = [heading.text.rpartition("run ")[2].partition(", ") for heading in section.all("h3")]
    shown = [told.labelled(name, seed).read("diagnosis.json") for name, _, seed in names]
    assert None not in shown
    assert len(tables) == len(shown) == sum(run.read("diagnosis.json") is not None for run in told.runs)
    for table, one in zip(tables, shown, strict=True):
        trace_conditions(table, one)
    for code, one in zip(section.all("code"), shown, strict=True):
        assert code.take() == one["signature"]
    figures = [section.all("figure")[place : place + 2] for place in range(0, 2 * len(shown), 2)]
    for (by_history, by_distance), one in zip(figures, shown, strict=True):
        conditions = [row["condition"] for row in one["conditions"] if row["condition"] != "none"]
        trace_bars(by_history, {called(one, name): f"{share_above(one, name)} %" for name in conditions})
        steps = one["by_distance"]["perplexity"]
        trace_bars(by_distance, {f"distance {row['distance']}": f"{signed(-100 * row['gain'], 2)} %" for row in steps})
    verdicts, explanations = [one["verdict"] for one in shown], [text for one in shown for text in one["explanation"]]
    for class_, sayings in (("headline", verdicts), ("second", explanations)):
        assert [node.take().lower() for node in section.all("p", class_)] == [f"{text}.".lower() for text in sayings]
    trace_mattering(section, shown)
    for heading in section.all("h3"):
        heading.take()  # its name and seed told which file it is of


def share_above(found: Mapping[str, Any], condition: str) -> str:
    """Return how far a perplexity lies above the one without history, the one number that the page works out."""
    perplexity = {row["condition"]: row["perplexity"] for row in found["conditions"]}
    return signed(100 * (perplexity[condition] / perplexity["none"] - 1), 1)


def signed(value: float, places: int) -> str:
    return f"{round(value, places) + 0.0:+.{places}f}"


def trace_conditions(table: Node, found: Mapping[str, Any]) -> None:
    """The table of histories."""
    assert numbers(table.one("caption").text) == [str(found["documents"]), str(found["sentences"])]
    tested = {
        frozenset((row["condition"], row["baseline"])): f"{max(row['p_bootstrap'], row['p_randomisation']):.3f}"
        for row in found["comparisons"]
        if row["measure"] == "perplexity"
    }
    for row, (heading, columns) in zip(found["conditions"], rows_of(table), strict=True):
        name = row["condition"]
        assert heading.lower() == called(found, name).lower()
        assert {heading: cell.text for heading, cell in columns.items()} == {
            ("perplexity",): f"{row['perplexity']:.3f}",
            ("change",): f"{share_above(found, name)} %",
            ("p to none",): tested.get(frozenset((name, "none")), "–"),
            ("p to true",): tested.get(frozenset((name, "true")), "–"),
            ("BLEU",): f"{row['bleu']:.1f}",
            ("right choices, %",): f"{100 * row['accuracy']:.1f}",
        }
    table.traced = True


def called(found: Mapping[str, Any], condition: str) -> str:
    """Name a history as the page does."""
    names = {"true": "the true history", "shuffled": "another document's", "none": "no history"}
    return f"run {found['against']['name']}" if condition == "against" else names.get(condition, f"the {condition}")


def trace_bars(figure: Node, wanted: Mapping[str, str]) -> None:
    """Bars, what stands beside them, and what is said of the whole."""
    assert [node.text for node in figure.all("text", "value")] == [*wanted.values()]
    assert [node.text for node in figure.all("title")] == [f"{label}: {text}" for label, text in wanted.items()]
    said = tidy(figure.one("svg").attributes["aria-label"]).partition(": ")[2]
    assert said == "; ".join(f"{label} {text}" for label, text in wanted.items())
    figure.traced = True


def trace_mattering(section: Node, shown: Sequence[Mapping[str, Any]]) -> None:
    """Sentences for which history mattered, and what the model tells."""
    wanted = [
        f"{row['cxmi']:+.2f} bits document {row['document']}, sentence {row['sentence']}"
        for one in shown
        for row in (*one["better"], *one["worse"])
    ]
    heads = [node for node in section.all("p") if " bits document " in node.text]
    assert [node.take() for node in heads] == wanted
    for story in section.all("dl", "context"):
        backs = [node.text for node in story.all("dt") if node.text.endswith(" back")]
        assert backs == [f"{len(backs) - place} back" for place in range(len(backs))]
        story.traced = True
    places = [(trace["title"], place) for one in shown for trace in one["traces"] for place in trace["places"]]
    rows = [row for table in section.all("table", "facts") for row in table.one("tbody").all("tr")]
    for row, (title, place) in zip(rows, places, strict=True):
        texts = [title, place["place"], f"{place['mean']:.3f}", f"{place['deviation']:.3f}"]
        assert [cell.text for cell in cells(row)] == texts
        row.traced = True


def trace_samples(tree: Node, told: Any) -> None:
    """Translated documents: sentences as the files have them, and how many words differ."""
    section = tree.place("samples")
    assert section is not None
    tables = section.all("table")
    introduction = next(node for node in section.all("p") if "marked" in node.text)
    documents = len(told.runs[0].lines("assessment/translations.jsonl"))
    wanted = [str(len(tables)), str(documents)] if len(tables) < documents else []
    assert numbers(introduction.take()) == wanted
    for table in tables:
        trace_sample(table, told)


def trace_sample(table: Node, told: Any) -> None:
    """One document, as all runs that are shown translated it."""
    identity = table.one("caption").one("b").text.removeprefix("Document ")
    labels = [cell.attributes["data-label"] for cell in cells(table.one("tbody").all("tr")[0])[1:-1]]
    caption = " ".join(heading.text for heading in table.one("thead").all("th"))
    runs = [told.labelled(label, caption) for label in labels]
    found = [document(run, identity) for run in runs]
    for number, row in enumerate(table.one("tbody").all("tr")):
        label = found[0]["labels"].get(str(number))
        tag = [f"{label['phenomenon']} {label['distance']} back"] if label else []
        first = " ".join([str(number + 1), found[0]["source"][number], *tag])
        texts = [first, *(one["hypothesis"][number] for one in found), found[0]["reference"][number]]
        assert [squeeze(cell.text) for cell in cells(row)] == list(map(squeeze, texts))
    one, other = found[0]["hypothesis"], found[-1]["hypothesis"] if len(found) > 1 else found[0]["reference"]
    count = sum(differing(*pair) for pair in zip(one, other, strict=True))
    assert numbers(table.one("caption").text) == [identity, str(count)]
    table.traced = True


def document(run: Any, identity: str) -> dict[str, Any]:
    (found,) = [one for one in run.lines("assessment/translations.jsonl") if one["id"] == identity]
    return dict(found)


def squeeze(text: str) -> str:
    """Leave out spaces: marks of words cut sentences into pieces."""
    return text.replace(" ", "")


def differing(one: str, other: str) -> int:
    """Count the words of two sentences that are not in their longest common subsequence."""
    left, right = (re.findall(r"\w+|[^\w\s]", text) for text in (one, other))
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, word in enumerate(left):
        for j, rival in enumerate(right):
            same = longest[i][j] + 1
            longest[i + 1][j + 1] = same if word == rival else max(longest[i][j + 1], longest[i + 1][j])
    return len(left) + len(right) - 2 * longest[-1][-1]


def trace_routing(tree: Node, told: Any) -> None:
    """Heat maps: every square, and the range of every map."""
    section = tree.place("routing")
    assert section is not None
    routed = {
        (sample["source"], str(run.path)): sample
        for run in told.runs
        for sample in run.read("assessment/routing.json") or ()
    }
    for heading, details in by_heading(section):
        name, _, seed = heading.take().rpartition("run ")[2].partition(", seed ")
        run = told.labelled(name, f"seed {seed}" if seed else "")
        for node in details:
            trace_sentence(node, routed[node.one("q").text, str(run.path)])


def by_heading(section: Node) -> Iterator[tuple[Node, list[Node]]]:
    """Go through the runs of the section: heading, and the sentences beneath it."""
    inside = [node for node in section.children if isinstance(node, Node)]
    starts = [place for place, node in enumerate(inside) if node.tag == "h3"]
    for start, end in zip(starts, [*starts[1:], len(inside)], strict=True):
        yield inside[start], [node for node in inside[start:end] if node.tag == "details"]


def trace_sentence(details: Node, sample: Mapping[str, Any]) -> None:
    """The maps of one sentence."""
    place = f"document {sample['document']}, sentence {sample['sentence'] + 1}"
    assert details.one("summary").one("span", "quiet").text == place
    iterations = len(sample["history"][0]["coupling"])
    assert details.one("output").text == f"{iterations - 1} of {iterations - 1}"
    parts = {part["distance"]: part for part in sample["history"]}
    blocks = details.all("div", "history")
    assert len(blocks) == len(parts)
    for block in blocks:
        part = parts[BACK[block.one("h5").text.split()[0]]]
        kinds = [("c", part["coupling"]), ("p", part["pcc"])]
        for figure, (symbol, matrices) in zip(block.all("figure"), kinds, strict=True):
            trace_maps(figure, symbol, matrices, part["words"])
    details.traced = True


def trace_maps(figure: Node, symbol: str, matrices: Sequence[Any], words: Sequence[str]) -> None:
    steps = figure.all("div", "step")
    for iteration, (step, matrix) in enumerate(zip(steps, matrices, strict=True)):
        names = [
            f"{word}, capsule {capsule}: {symbol} = {value:.3f}"
            for capsule, row in enumerate(matrix, start=1)
            for word, value in zip(words, row, strict=True)
        ]
        assert [node.text for node in step.all("title")] == names
        assert [node.attributes["aria-label"] for node in step.all("rect", "cell")] == names
        values = [value for row in matrix for value in row]
        low, high = f"{min(values):.2f}", f"{max(values):.2f}"
        reach = f"{symbol} = {low}" if low == high else f"{symbol} from {low} to {high}"
        assert step.one("p").text == f"Iteration {iteration} {reach}"
        said = step.one("svg").attributes["aria-label"].replace("−", "-")
        assert said.endswith(f"; {reach}")
        assert f"iteration {iteration}, " in said


def trace_made(tree: Node, told: Any) -> None:
    """Circumstances, settings, signatures and commands."""
    section = tree.place("provenance")
    assert section is not None
    tables = section.all("table", "facts")
    runs = runs_of_columns(tables[0], told)
    for table in tables:
        trace_facts(table, runs)
    for heading in section.all("h3"):
        if count := re.search(r"\((\d+)\)$", heading.text):
            parent = next(node for node in section.all("details") if heading in node.all("h3"))
            rows = [*parent.all("li"), *(row for body in parent.all("tbody") for row in body.all("tr"))]
            assert int(count.group(1)) == len(rows)
            heading.take()
    assert [(node.one("p").text, node.one("code").text) for node in section.all("li")] == list(told.commands)
    for node in section.all("li"):
        node.take()


def runs_of_columns(table: Node, told: Any) -> list[Any]:
    """Find the runs of the columns, by their labels and by the row that has their seeds."""
    labels = [cell.text for cell in table.one("thead").all("th")]
    seeds = next(values(row) for row in table.one("tbody").all("tr") if row.text.startswith("seed "))
    return [told.labelled(label, f"seed {seed}") for label, seed in zip(labels, seeds, strict=True)]


def values(row: Node) -> list[str]:
    """Return what stands in each column; what runs share stands there once."""
    return [cell.text for cell in cells(row)[1:] for _ in range(int(cell.attributes.get("colspan", 1)))]


def trace_facts(table: Node, runs: Sequence[Any]) -> None:
    """A table of facts: a column for each run, or one for what they share."""
    columns = len(table.one("thead").all("th")) if table.all("thead") else 1
    for row in table.one("tbody").all("tr"):
        name = cells(row)[0].text
        assert values(row) == [fact(run, name) for run in runs[:columns]], name
    counted = [str(len(table.one("tbody").all("tr")))] if columns == 1 and table.all("thead") else []
    assert [number for caption in table.all("caption") for number in numbers(caption.text)] == counted
    table.traced = True


def fact(run: Any, name: str) -> str:
    """Look up a fact by the name that the page has for it."""
    about, measured = run.about, run.read("results.json") or {}
    if name == "run directory":
        return str(run.path)
    if name == "began with the weights of":
        return str(about["init_from"] or "–")
    if name == "measured on":
        return ", ".join(f"{key} {value}" for key, value in measured["machine"].items() if value is not None)
    if name.endswith(" signature"):
        (score,) = [one for one in measured["parts"]["test"]["scores"].values() if f"{one['name']} signature" == name]
        return str(score["signature"])
    flat = {
        **{f"{key} version": value for key, value in about["versions"].items()},
        **{f"corpus {key}": value for key, value in about["corpus"].items()},
        **{key: about[key] for key in ("status", "seed", "steps", "precision", "created")},
        **dict(flattened(about["settings"])),
    }
    value = flat[name]
    large = isinstance(value, int) and value >= 10_000
    return f"{value:,}".replace(",", " ") if large else str(value)


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
