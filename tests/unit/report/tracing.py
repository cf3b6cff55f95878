"""What every number of a page must be, worked out from the files of the runs: each in its own place, under its heading.

Each function looks at one part of a page, compares it with the files, and counts it as traced; `trace_page` then sees
that no number is left.
"""

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.unit.report.page_reading import Heading, Node, headings, numbers, read_page, rows_of, tidy
from tests.unit.report.traced_parts import trace_data, trace_diagnoses, trace_made, trace_routing, trace_samples

from docaps.report.paper import CORPORA, TABLE2

METRICS = {"BLEU": "bleu", "d-BLEU": "dbleu", "chrF2++": "chrf", "METEOR": "meteor"}
HISTORIES = {"own history": "own", "no history": "none", "another's": "shuffled"}
CONTROLS = ("qcn-shuffled", "qcn-noise")
ACCURACY = "Contrastive accuracy, %"
OWN_WORDS = [
    r"chrF2\+\+",
    r"Tables? [12]",
    r"Figures? [4-7]( and [4-7])?",
    r"95 %",
    r"p < 0\.0[15]",
    r"METEOR 1\.5",
    r"et al\. \d{4}",
    r"sum to 1 ",
]
"""Numbers that the page says by itself: of figures and tables, of levels, of years."""


@dataclass(frozen=True)
class Files:
    """The files of a run."""

    path: Path

    def read(self, name: str) -> Any:
        """Return what a file holds; None if there is none."""
        path = self.path / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / name).read_text(encoding="utf-8").splitlines()]

    def logged(self, key: str) -> list[float]:
        return [row[key] for row in self.lines("metrics.jsonl") if key in row]

    @property
    def about(self) -> dict[str, Any]:
        return dict(self.read("run.json"))


@dataclass(frozen=True)
class PageSources:
    """All that a page may speak of: runs, grids, sentence models and commands."""

    runs: Sequence[Files]
    grids: Sequence[Mapping[str, Any]] = ()
    sentence_models: Sequence[Files] = ()
    commands: Sequence[tuple[str, str]] = field(default=())

    def named(self, heading: str) -> Files:
        """Find the run of a row: "... · run NAME, seed SEED"; without a seed there is but one."""
        name, seed = re.findall(r"· run (\S+?)(?:, seed (\d+))?$", heading)[0]
        return self.labelled(name, f"seed {seed}" if seed else "")

    def labelled(self, label: str, caption: str) -> Files:
        """Find the run of a line or dot: by its name or system, and by the seed that the label or caption names."""
        name, _, own = label.partition(", seed ")
        seed = own or "".join(set(re.findall(r"\bseed (\d+)", caption)))
        found = [run for run in self.runs if seed in ("", str(run.about["seed"]))]
        for key in ("name", "system"):
            if matching := [run for run in found if run.about[key] == name]:
                (run,) = matching  # a caption that left out the seed would leave several
                return run
        raise AssertionError(f"no run {label!r}, {caption}")


def per_cent(share: float) -> str:
    return f"{100 * share:.1f}"


def grouped(value: float) -> str:
    return f"{round(value):,}".replace(",", " ")


def clock(seconds: float) -> str:
    """Write a time with its two largest units."""
    whole = round(seconds)
    units = ((whole // 3600, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    return " ".join([f"{count} {unit}" for count, unit in units if count][:2])


def trace_page(page: str, sources: PageSources) -> int:
    """Compare a page with the files, part by part; no number may be left. Return how many there were."""
    return trace_tree(read_page(page), sources)


def trace_tree(tree: Node, sources: PageSources) -> int:
    before = count_numbers(tree)
    trace_header(tree, sources)
    for grid in sources.grids:
        trace_grid(tree, grid, sources)
    trace_results(tree, sources)
    trace_scores(tree, sources)
    trace_choices(tree, sources)
    trace_diagnoses(tree, sources)
    trace_samples(tree, sources)
    trace_routing(tree, sources)
    trace_curves(tree, sources)
    trace_data(tree, sources)
    trace_made(tree, sources)
    left = [text for text in tree.one("body").seen() if numbers(without_own_words(text))]
    assert left == []
    return before


def count_numbers(tree: Node) -> int:
    return sum(len(numbers(text)) for text in tree.one("body").seen())


def without_own_words(text: str) -> str:
    return re.sub("|".join(OWN_WORDS), "", text)


def trace_header(tree: Node, sources: PageSources) -> None:
    """The best accuracy with and without context, and what the runs scored."""
    header = tree.one("header")
    tested = [(run, found) for run in sources.runs if (found := run.read("assessment/contrastive.json"))]
    for headline in header.all("p", "headline"):
        text, wanted = headline.take(), []
        for context in (True, False):
            some = [(run, found) for run, found in tested if is_compared(run, context)]
            run, best = max(some, key=lambda pair: pair[1]["accuracy"]["all"])
            text = text.replace(f"({run.about['name']})", "")
            wanted += [*([str(len(some))] if len(some) > 10 else []), per_cent(best["accuracy"]["all"])]
        wanted.append(per_cent(best["chance"]["all"]))
        wanted += [str(best["items"])] if "no clear difference" in text else []
        assert numbers(text) == wanted
    scored = [found for run in sources.runs if (found := run.read("assessment/scores.json"))]
    for second in header.all("p", "second"):
        scores = [found["bleu"]["score"] for found in scored]
        shown = [min(scores), max(scores)] if len(scores) > 3 else scores
        wanted = [str(scored[0]["documents"]), *(f"{score:.1f}" for score in shown)]
        assert numbers(without_own_words(second.take())) == wanted


def is_compared(run: Files, context: bool) -> bool:
    system = run.about["system"]
    return bool(system.startswith("transformer") != context and system not in CONTROLS)


def trace_grid(tree: Node, grid: Mapping[str, Any], sources: PageSources) -> None:
    """The numbers of a grid, of whatever kind."""
    place = tree.place(str(grid["experiment"]))
    assert place is not None
    if grid["experiment"] == "table2":
        trace_table2(tree, place, grid, sources)
    else:
        trace_rows(place, grid, sources)


def caption_numbers(grid: Mapping[str, Any]) -> list[str]:
    """Return the numbers of a grid's caption, in their order."""
    steps = [str(count) for count in grid["steps"].values()]
    marks = ["0.05", "0.01", str(grid["draws"])] if any(row.get("against") for row in grid["rows"]) else []
    return [*steps, str(grid["corpus"]["documents"]), "95", *marks]


def trace_table2(tree: Node, table: Node, grid: Mapping[str, Any], sources: PageSources) -> None:
    assert numbers(table.one("caption").text) == ["2", *caption_numbers(grid)]
    ours = {("Ours", name): key for name, key in METRICS.items()}
    papers = {(f"Paper, {name}", score) for name in CORPORA for score in ("BLEU", "Meteor")}
    assert set(headings(table)) == {("Row",), *ours, ("Ours", "right choices, %"), *papers}
    for row, (name, found) in zip(grid["rows"], rows_of(table), strict=True):
        seeds = [str(run["seed"]) for run in row["runs"]]
        assert name == f"{row['title']} {row['row']} · seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        for heading, key in ours.items():
            value, mark, ends = score_of(row, key, grid, sources)
            assert found[heading].text == " ".join(filter(None, [value, mark, ends])), (name, heading)
            titles = [node.attributes["title"] for node in found[heading].all("sup")]
            assert titles == ([mark_title(row, key)] if mark else [])
        assert found["Ours", "right choices, %"].text == " ".join(choices_of(row, sources))
        for place, corpus in enumerate(CORPORA):
            known = [f"{value:.2f}" for value in TABLE2[row["row"]][place]] if row["row"] in TABLE2 else ["–", "–"]
            assert [found[f"Paper, {corpus}", score].text for score in ("BLEU", "Meteor")] == known
    table.traced = True
    trace_sentence_models(tree, grid, sources)


def score_of(row: Mapping[str, Any], key: str, grid: Mapping[str, Any], sources: PageSources) -> tuple[str, str, str]:
    """Return a mean over the runs of a row, its mark and its interval, as they should be written."""
    part = grid.get("part", "test")
    found = [runs_file(sources, grid, run).read("results.json")["parts"][part]["scores"][key] for run in row["runs"]]
    mean = statistics.fmean(score["score"] for score in found)
    ends = row["means"][key] if len(found) > 1 else row["documents"][key]
    mark = mark_of(row.get("against", {}).get(key))
    return f"{mean:.2f}", mark, f"[{ends['low']:.2f}, {ends['high']:.2f}]"


def mark_of(tests: Mapping[str, float] | None) -> str:
    worst = max(tests["p_bootstrap"], tests["p_randomisation"]) if tests else 1
    return "**" if worst < 0.01 else "*" if worst < 0.05 else ""


def runs_file(sources: PageSources, grid: Mapping[str, Any], run: Mapping[str, Any]) -> Files:
    (found,) = [one for one in sources.runs if one.path == Path(grid["folder"]) / run["path"]]
    return found


def mark_title(row: Mapping[str, Any], key: str) -> str:
    found = row["against"][key]
    tests = f"p = {found['p_bootstrap']:.4f} (bootstrap), {found['p_randomisation']:.4f} (randomisation)"
    return f"difference {found['difference']:+.2f}, {tests}"


def choices_of(row: Mapping[str, Any], sources: PageSources) -> list[str]:
    """Return the share of right choices over the runs of a row, and its interval if there are several."""
    runs = [run for run in sources.runs if str(run.path).endswith(tuple(one["path"] for one in row["runs"]))]
    assert len(runs) == len(row["runs"])
    share = statistics.fmean(run.read("assessment/contrastive.json")["accuracy"]["all"] for run in runs)
    found = row["choices"]
    return [per_cent(share), *([f"[{per_cent(found['low'])}, {per_cent(found['high'])}]"] if len(runs) > 1 else [])]


def trace_sentence_models(tree: Node, grid: Mapping[str, Any], sources: PageSources) -> None:
    """The note about the sentence models."""
    (note,) = [node for node in tree.all("p", "note") if node.text.startswith("The sentence models that")]
    models = [
        f"seed {about['seed']}: {about['steps']:,} steps, {clock(about['seconds'])}, perplexity of the development "
        f"part {min(run.logged('dev_perplexity')):.2f}"
        for run in sources.sentence_models
        for about in [run.about]
    ]
    assert note.take() == f"The sentence models that the rows start from: {'; '.join(models)}."


def trace_rows(section: Node, grid: Mapping[str, Any], sources: PageSources) -> None:
    """A figure over a setting, or trials: title, caption, charts and table."""
    trial = grid["experiment"] == "trials"
    heading = section.one("h2").take()
    assert heading == ("Trials" if trial else grid["title"])
    (table,) = section.all("table")
    caption = table.one("caption") if trial else next(node for node in section.all("p") if "intervals" in node.text)
    assert numbers(caption.text) == caption_numbers(grid)
    caption.traced = True
    for row, (name, found) in zip(grid["rows"], rows_of(table), strict=True):
        assert name == (f"{row['row']}: {row['title']}" if trial else row["title"])
        scores = {key: score_of(row, key, grid, sources) for key in METRICS.values()}
        wanted = {(title,): f"{scores[key][0]} {scores[key][2]}" for title, key in METRICS.items()}
        if trial:
            wanted = {(title,): " ".join(filter(None, scores[key])) for title, key in METRICS.items()}
            wanted |= perplexities(row)
            wanted["seeds",] = ", ".join(str(run["seed"]) for run in row["runs"])
        assert {heading: cell.text for heading, cell in found.items()} == wanted
    table.traced = True
    for figure in section.all("figure"):
        if trial:
            trace_gain(figure, grid)
        else:
            trace_points(figure, grid, sources)


REPLACED = {"shuffled": "another's history", "none": "no history", "true": "the row it is compared with"}


def trace_gain(figure: Node, grid: Mapping[str, Any]) -> None:
    """The context gain of each trial: the title of a dot names its row, what replaces the history, and the gain."""
    wanted = []
    for row in grid["rows"]:
        found = {history: one["against"] for history, one in row["histories"].items() if one["against"]}
        for history, title in REPLACED.items():
            if history in found and len(row["histories"]) > 1:
                ends = [found[history][key] for key in ("difference", "low", "high")]
                ends = [-ends[0], -ends[2], -ends[1]] if history == "true" else ends
                said = f"{ends[0]:+.3f} [{ends[1]:+.3f}, {ends[2]:+.3f}]"
                wanted.append(f"{row['row']}, {title}: {said}")
    assert [node.text for node in figure.all("title")] == wanted
    figure.traced = True


def perplexities(row: Mapping[str, Any]) -> dict[tuple[str], str]:
    """Return what a row of trials should say of each history."""
    titles = {"true": "perplexity", "shuffled": "perplexity, another's history", "none": "perplexity, no history"}
    wanted = {}
    for history, title in titles.items():
        found = row["histories"].get(history)
        wanted[title,] = f"{found['perplexity']:.3f} {mark_of(found['against'])}".strip() if found else "–"
    return wanted


def trace_points(figure: Node, grid: Mapping[str, Any], sources: PageSources) -> None:
    """A chart of a score over a setting: what is said of it, and of each dot."""
    name = figure.text.split()[0]
    scores = {row["value"]: score_of(row, METRICS[name], grid, sources) for row in grid["rows"]}
    said = "; ".join(f"{value}: {score[0]}" for value, score in scores.items())
    assert figure.one("svg").attributes["aria-label"] == f"{name} by history sentences: {said}"
    dots = [node.text for node in figure.all("title")]
    assert dots == [f"{value}: {score[0]} {score[2]}" for value, score in scores.items()]
    figure.traced = True


def trace_results(tree: Node, sources: PageSources) -> None:
    """The table of all runs, the notes beneath it, and the charts of accuracy."""
    table = tree.place("results")
    assert table is not None
    tested = None
    for name, found in rows_of(table):
        run = sources.named(name)
        contrastive, scores = run.read("assessment/contrastive.json"), run.read("assessment/scores.json")
        speeds = sorted(run.logged("tokens_per_second"))
        wanted = {
            ("Parameters",): grouped(run.about["parameters"]),
            ("Training",): clock(run.about["seconds"]),
            ("Tokens/s",): grouped(speeds[(len(speeds) - 1) // 2]),
            ("Perplexity",): f"{min(run.logged('dev_perplexity')):.2f}",
            ("BLEU",): f"{scores['bleu']['score']:.1f}" if scores else "–",
            **(accuracies(contrastive["accuracy"], per_cent) if contrastive else {}),
        }
        assert {heading: cell.text for heading, cell in found.items()} == wanted, name
        tested = tested or contrastive
    plain = {heading: "" for heading in headings(table)[1:] if heading[0] != ACCURACY}
    foot = {name: {heading: cell.text for heading, cell in row.items()} for name, row in rows_of(table, "tfoot")}
    if tested:
        chance, items = accuracies(tested["chance"], per_cent), accuracies(tested["counts"], grouped)
        assert foot == {"Chance": plain | chance, "Items": plain | items}
    table.traced = True
    (section,) = [node for node in tree.all("section") if node.attributes["aria-labelledby"] == "results-heading"]
    trace_notes(section, sources)
    trace_collapses(section, sources)
    for figure in section.all("figure"):
        phenomenon = figure.text.split()[0]
        trace_dots(figure, sources, lambda run, distance, name=phenomenon: by_distance(run, name, distance))
    take_legends(section)


def accuracies(found: Mapping[str, Any], write: Any) -> dict[Heading, str]:
    """Write a breakdown under its headings."""
    return {
        (ACCURACY, "all"): write(found["all"]),
        **{(ACCURACY, "by phenomenon", name): write(value) for name, value in found["by_phenomenon"].items()},
        **{(ACCURACY, "by distance", f"{name} back"): write(value) for name, value in found["by_distance"].items()},
    }


def trace_collapses(section: Node, sources: PageSources) -> None:
    """The runs in which the PCC of matched and mismatched development pairs differ by less than 0.02 at the end."""
    wanted = []
    for run in sources.runs:
        ends = [run.logged(key)[-1:] for key in ("dev_pcc", "dev_pcc_mismatched", "retrieval")]
        if ends[0] and ends[0][0] - ends[1][0] < 0.02:
            matched, mismatched, found = (f"{end[0]:.3f}" for end in ends)
            wanted.append((run.about, f"{matched} and {mismatched}, retrieval {found}"))
    said = [node for node in section.all("p", "doubt") if "does not tell pairs apart" in node.text]
    told = re.findall(r"(\S+?)(?:, seed (\d+))? \(([^()]+, retrieval [\d.]+)\)", said[0].take() if said else "")
    assert len(told) == len(wanted)
    for (name, seed, numbers_told), (about, numbers_wanted) in zip(told, wanted, strict=True):
        assert name in (about["name"], about["system"])
        assert seed in ("", str(about["seed"]))
        assert numbers_told == numbers_wanted


def trace_notes(section: Node, sources: PageSources) -> None:
    """How BLEU was counted and translations were searched for."""
    scores = [found for run in sources.runs if (found := run.read("assessment/scores.json"))]
    searches = [", ".join(f"{key.replace('_', ' ')} {value}" for key, value in one["search"].items()) for one in scores]
    known = {f"BLEU: {one['bleu']['signature']} ({search})" for one, search in zip(scores, searches, strict=True)}
    for note in section.all("p", "note"):
        if note.text.startswith("BLEU: "):
            assert note.take() in known


def by_distance(run: Files, phenomenon: str, row: str) -> tuple[float, float] | None:
    """Return accuracy and chance of a phenomenon, "2 back"."""
    found, distance = run.read("assessment/contrastive.json"), row.removesuffix(" back")
    parts = [found[key]["by_phenomenon_and_distance"][phenomenon][distance] for key in ("accuracy", "chance")]
    return parts[0], parts[1]


def trace_dots(figure: Node, sources: PageSources, look_up: Any) -> None:
    """A chart of dots: each says its row, its run and its value; the marks of chance say theirs."""
    caption = figure.one("figcaption").text
    dots = [node.text for node in figure.all("title")]
    runs: set[Path] = set()
    rows = dict.fromkeys(dot.split(",")[0] for dot in dots)
    for dot in dots:
        row, label, value = re.fullmatch(r"([^,]+), (.+): ([\d.]+) %", dot).groups()  # type: ignore[union-attr]
        run = (
            sources.labelled(label, caption) if label != "chance" else next(r for r in sources.runs if look_up(r, row))
        )
        assert value == per_cent(look_up(run, row)[label == "chance"]), dot
        runs |= {run.path} if label != "chance" else set()
    assert len(dots) == len(rows) * (len(runs) + 1)
    said = figure.one("svg").attributes["aria-label"]
    assert numbers(said) == numbers(caption) == re.findall(r"seed (\d+)$", caption)
    figure.traced = True


def take_legends(section: Node) -> None:
    """Names, no numbers."""
    for legend in section.all("ul", "legend"):
        legend.take()


def trace_scores(tree: Node, sources: PageSources) -> None:
    """The scores of runs of no grid."""
    section = tree.place("scores")
    for label, found in rows_of(section.one("table")) if section else ():
        scores = sources.labelled(label, "").read("results.json")["parts"]["test"]["scores"]
        wanted = {(name,): f"{scores[key]['score']:.2f}" for name, key in METRICS.items()}
        assert {heading: cell.text for heading, cell in found.items()} == wanted
        for cell in found.values():
            cell.take()


def trace_choices(tree: Node, sources: PageSources) -> None:
    """Contrastive sets that were kept."""
    section = tree.place("choices")
    if section is None:
        return
    names = [heading.text for heading in section.all("h3")]
    for name, table, figure in zip(names, section.all("table"), section.all("figure"), strict=True):
        for heading, found in rows_of(table):
            run = sources.named(heading)
            shares = {column: kept_share(run, name, column[0]) for column in found}
            wanted = {
                column: f"{per_cent(one['accuracy'])} [{per_cent(one['low'])}, {per_cent(one['high'])}]" if one else "–"
                for column, one in shares.items()
            }
            assert {column: cell.text for column, cell in found.items()} == wanted, heading
        for title, found in rows_of(table, "tfoot"):
            for column, cell in found.items():
                first = next(one for run in sources.runs if (one := kept_share(run, name, column[0])))
                assert cell.text == (per_cent(first["chance"]) if title == "Chance" else grouped(first["items"]))
        table.traced = True
        trace_dots(figure, sources, lambda run, row, name=name: accuracy_and_chance(kept_share(run, name, row)))
    signatures = {found["signature"] for run in sources.runs for found in map(run.read, kept_files(run))}
    for code in section.all("code"):
        assert code.take() in signatures
    take_legends(section)


def kept_files(run: Files) -> list[str]:
    return [f"contrast/{path.name}" for path in (run.path / "contrast").glob("*.json")]


def kept_share(run: Files, name: str, column: str) -> dict[str, Any] | None:
    """Find what a run chose in a set: with a history, or in a group of items with their own."""
    found = run.read(f"contrast/{name}.{HISTORIES.get(column, 'own')}.json")
    if found is None or column in HISTORIES:
        return found and found | found["interval"]
    (group,) = [groups[column] for groups in found["details"].values() if column in groups]
    return dict(group)


def accuracy_and_chance(share: Mapping[str, Any] | None) -> tuple[float, float] | None:
    return (share["accuracy"], share["chance"]) if share else None


CURVES = {
    "Training loss": ("cross_entropy",),
    "Perplexity": ("dev_perplexity",),
    "BLEU": ("dev_bleu",),
    "Right choices": ("choices",),
    "Correlation (PCC)": ("pcc",),
    "Retrieval": ("retrieval",),
}


def trace_curves(tree: Node, sources: PageSources) -> None:
    """What each line of the learning curves is said to end at."""
    section = tree.place("curves")
    assert section is not None
    panels = section.all("div", "panels")
    assert len(panels) == 1 + bool(sources.sentence_models)
    for first, panel in enumerate(panels):
        for figure in panel.all("figure"):
            trace_curve(figure, sources, of_sentence_models=bool(first))


def trace_curve(figure: Node, sources: PageSources, *, of_sentence_models: bool) -> None:
    caption, said = figure.one("figcaption").text, tidy(figure.one("svg").attributes["aria-label"])
    title, lines = said.split(", ")[0], said.partition("over training steps. ")[2].split("; ")
    (key,) = CURVES[title]
    for line in lines:
        label, _, value = line.rpartition(" ends at ")
        run = sentence_model(sources, label) if of_sentence_models else sources.labelled(label, caption)
        assert value == f"{run.logged(key)[-1]:.3g}", line
    assert caption.replace(f"{title} ", "") in said
    drawn = {re.sub(", (mismatched|chance)$", "", node.text) for node in figure.all("title")}
    assert drawn == {line.rpartition(" ends at ")[0] for line in lines}
    figure.traced = True


def sentence_model(sources: PageSources, label: str) -> Files:
    if label == "sentence model":
        (run,) = sources.sentence_models
        return run
    (run,) = [one for one in sources.sentence_models if label == f"seed {one.about['seed']}"]
    return run
