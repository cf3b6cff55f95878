"""The documented examples: documents with the translations that the demo's document model gives.

README, documentation, docstrings, the last lines of `docaps demo` and the page of the service show sentences of these
documents only. `test_examples.py` checks that, that the translations are those of the mini-documents' grammar, and (in
`make stress`) that a trained demo model gives them.
"""

from collections.abc import Sequence

Pair = tuple[str, str]

BLOUSE = (
    ("Anna bought a red blouse in the sale.", "Anna kaufte im Ausverkauf eine rote Bluse."),
    ("It fitted Anna like a glove.", "Sie passte Anna wie angegossen."),
)
CHURCH = (
    ("David stopped in front of a famous church.", "David blieb vor einer berühmten Kirche stehen."),
    ("It was surrounded by a high wall.", "Sie war von einer hohen Mauer umgeben."),
)
PAGE = (
    *CHURCH,
    ("Martin wanted to renovate it from top to bottom.", "Martin wollte sie von Grund auf renovieren."),
    ("Silke was typing a long message.", "Silke tippte eine lange Nachricht."),
    ("Julia pointed at the key with a smile.", "Julia zeigte lächelnd auf die Taste."),
    ("Peter told Paula about a short essay.", "Peter erzählte Paula von einem kurzen Aufsatz."),
    ("It was gripping to the very end.", "Er war bis zum Schluss fesselnd."),
    ("Clear water was trickling out of the ground.", "Klares Wasser rieselte aus dem Boden."),
    ("The spring puzzled them both.", "Die Quelle gab beiden Rätsel auf."),
)
"""The document that the page of the service opens with."""
PROFESSOR = (
    ("My compliments, Professor Hartmann.", "Meine Hochachtung, Professor Hartmann."),
    ("How is your family?", "Wie geht es Ihrer Familie?"),
)
BIOGRAPHY = (
    (
        "Wilhelm made fun of a boring biography.",
        "Wilhelm machte sich über eine langweilige Biografie lustig.",
    ),
    ("It was easy to read.", "Sie ließ sich leicht lesen."),
)
TABLE = (
    *PROFESSOR,
    *BIOGRAPHY,
    (
        "A modest dentist told Wilhelm about her childhood.",
        "Eine bescheidene Zahnärztin erzählte Wilhelm von ihrer Kindheit.",
    ),
    ("Wilhelm interrupted the modest dentist politely.", "Wilhelm unterbrach die bescheidene Zahnärztin höflich."),
)
"""The document of the README's first table."""
DOCUMENTS: dict[str, Sequence[Pair]] = {
    "blouse": BLOUSE,
    "church": CHURCH,
    "page": PAGE,
    "professor": PROFESSOR,
    "biography": BIOGRAPHY,
    "table": TABLE,
}
SENTENCES = {sentence for pairs in DOCUMENTS.values() for pair in pairs for sentence in pair}
