"""Parse a page: elements as a tree, tables by their headings, and which numbers have been traced."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"br", "col", "input", "link", "meta"}
UNSEEN = {"script", "style", "head"}


class Node:
    """An element; once it is traced, it is no longer seen by `seen`."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.children: list[Node | str] = []
        self.traced = False

    def all(self, tag: str = "", class_: str = "") -> list["Node"]:
        """Return the elements inside it, in the order of the page."""
        return [node for node in self._inside() if tag in ("", node.tag) and class_ in ("", *node.classes)]

    def one(self, tag: str = "", class_: str = "") -> "Node":
        (node,) = self.all(tag, class_)
        return node

    def place(self, identity: str) -> "Node | None":
        """Return the element with an id, if there is one."""
        return next((node for node in self._inside() if node.attributes.get("id") == identity), None)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def _inside(self) -> Iterator["Node"]:
        for child in self.children:
            if isinstance(child, Node):
                yield child
                yield from child._inside()

    @property
    def text(self) -> str:
        """What stands in it, with plain spaces; what the parts of a cell are is told by a space between them."""
        return tidy(" ".join(child.text if isinstance(child, Node) else child for child in self.children))

    def take(self) -> str:
        """Return its text, and count it as traced, with all that is in it."""
        self.traced = True
        return self.text

    def seen(self) -> Iterator[str]:
        """Go through all that has not been traced: texts, titles and labels, but not the scales of charts."""
        if self.traced or self.tag in UNSEEN or "scale" in self.classes:
            return
        for name in ("title", "aria-label"):
            if name in self.attributes:
                yield tidy(self.attributes[name])
        for child in self.children:
            if isinstance(child, str):
                yield "" if self.tag == "text" else tidy(child)
            else:
                yield from child.seen()


def tidy(text: str) -> str:
    return " ".join(text.replace("\u202f", " ").replace("−", "-").split())


class Reader(HTMLParser):
    """Builds the tree."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("page", {})]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attributes})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


class Outline(HTMLParser):
    """Checks that tags close in order, and collects ids and headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.levels: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read_page(page: str) -> Node:
    reader = Reader()
    reader.feed(page)
    (root,) = reader.open
    return root


Heading = tuple[str, ...]


def headings(table: Node) -> list[Heading]:
    """Return the headings above each column, from top to bottom."""
    rows = table.one("thead").all("tr")
    grid: dict[tuple[int, int], str] = {}
    for line, row in enumerate(rows):
        column = 0
        for cell in cells(row):
            while (line, column) in grid:
                column += 1
            spans = [range(int(cell.attributes.get(f"{name}span", 1))) for name in ("row", "col")]
            covered = [(line + down, column + across) for down in spans[0] for across in spans[1]]
            assert not grid.keys() & set(covered)
            grid |= dict.fromkeys(covered, cell.text)
    width = 1 + max(column for _, column in grid)
    stacks = [[grid[line, column] for line in range(len(rows))] for column in range(width)]
    return [tuple(dict.fromkeys(stack)) for stack in stacks]


def cells(row: Node) -> list[Node]:
    return [node for node in row.children if isinstance(node, Node) and node.tag in ("th", "td")]


def rows_of(table: Node, *parts: str) -> Iterator[tuple[str, dict[Heading, Node]]]:
    """Go through the rows of a table's parts: what a row is called, and its cells by their headings."""
    names = headings(table)
    for part in parts or ("tbody",):
        for row in [row for body in table.all(part) for row in body.all("tr")]:
            found = [cell for cell in cells(row) for _ in range(int(cell.attributes.get("colspan", 1)))]
            yield found[0].text, dict(zip(names[1:], found[1:], strict=True))


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written; 1 234 and 1,234 are one number each."""
    return [re.sub("[ ,]", "", number) for number in re.findall(r"\d{1,3}(?:[ ,]\d{3})+(?!\d)|\d+(?:\.\d+)?", text)]
