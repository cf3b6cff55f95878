"""`docaps variants`: the systems that can be trained."""

from docaps.cli.console import JsonOption, command_name, print_json, print_next, print_table


def variants(json: JsonOption = False) -> None:
    """List the systems, built-in and of installed plug-ins: what each sees, and its row of the paper's Table 2.

    Example: docaps variants --json
    """
    from docaps.config import SYSTEMS

    systems = [
        {
            "name": name,
            "title": system.title,
            "context": system.context,
            "sees": system.sees,
            "regulariser": system.regulariser,
            "table2": system.paper,
        }
        for name, system in SYSTEMS.items()
    ]
    if json:
        print_json({"variants": systems})
        return
    rows = [
        [one.name, one.title, one.sees, "yes" if one.regulariser else "–", one.paper or "–"] for one in SYSTEMS.values()
    ]
    header = ["name", "system", "context", "reg.", "row of Table 2"]
    print_table("Systems", header, rows, texts=range(len(header)))
    example = f"{command_name()} train minidocs --corpus PREPARED --out RUNS --set stage.document.system=capsnet"
    print_next([("train one", example)])
