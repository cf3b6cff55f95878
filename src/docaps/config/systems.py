"""Systems: the table of all that can be trained.

`SYSTEMS` is the one place that lists systems: name, title, settings, builder, what they see. Other packages add to it
through the entry point group `docaps.systems`: each entry point names a `System`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Annotated, Any, Optional, Self, TypeVar

from pydantic import AfterValidator, Field, create_model, model_validator

from docaps.config.faults import suggest
from docaps.config.model_settings import (
    ConcatSettings,
    ContextSettings,
    HanSettings,
    HistorySettings,
    ModelSettings,
    QcnSettings,
    RegulariserSettings,
    SanSettings,
    Settings,
    ZhangSettings,
)
from docaps.config.plugins import entries, load, package
from docaps.errors import ConfigError

GROUP = "docaps.systems"


def _known_system(name: str) -> str:
    """Refuse the name of a system that does not exist."""
    if name not in SYSTEMS:
        raise ValueError(f"unknown system; {suggest(name, list(SYSTEMS), 'systems')}")
    return name


SystemName = Annotated[str, AfterValidator(_known_system)]
Table = TypeVar("Table", bound=Settings)
Tables = TypeVar("Tables", bound="SystemTables")


class SystemTables(Settings):
    """The tables that describe a model; base of the settings of one system and of a recipe.

    Built-in systems have their tables here. The table of a plug-in has the name of its system; a subclass with a field
    for it is made when the values to be checked name that system.
    """

    name: str = Field("", description="the name of the recipe, or of the system")
    model: ModelSettings = ModelSettings()
    history: HistorySettings = HistorySettings()
    context: ContextSettings = ContextSettings()
    qcn: QcnSettings = QcnSettings()
    zhang: ZhangSettings = ZhangSettings()
    han: HanSettings = HanSettings()
    san: SanSettings = SanSettings()
    concat: ConcatSettings = ConcatSettings()
    regulariser: RegulariserSettings = RegulariserSettings()

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Check values, with the tables of the plug-ins that they name."""
        return super(SystemTables, cls.accepting(obj)).model_validate(obj, **options)

    @classmethod
    def accepting(cls, values: Any) -> type[Self]:
        """Return this class with a field for each plug-in that the values name, as a table or as a system."""
        if not isinstance(values, Mapping):
            return cls
        systems = {name for name in cls._systems_named(values) if isinstance(name, str)}
        named = (values.keys() - cls.model_fields) | (systems - {system.name for system in BUILT_IN})
        plugins = sorted(named & SYSTEMS.plugins().keys()) if named else ()
        return _with_tables(cls, tuple((name, table) for name in plugins if (table := SYSTEMS[name].settings)))

    @classmethod
    def _systems_named(cls, values: Mapping[str, Any]) -> list[Any]:
        """Return the systems of a recipe's stages, whatever these are."""
        stages = values.get("stage")
        found = stages.values() if isinstance(stages, Mapping) else ()
        return [one.get("system") if isinstance(one, Mapping) else getattr(one, "system", None) for one in found]

    def table(self, kind: type[Table]) -> Table:
        """Return the table of a class, such as that of a plug-in; its defaults if there is none."""
        return next((one for one in self.__dict__.values() if isinstance(one, kind)), None) or kind()

    def for_system(self, name: str, changes: Mapping[str, Mapping[str, Any]] | None = None) -> "SystemSettings":
        """Return the settings of one system: all built-in tables, its own if it is a plug-in, and changes of these."""
        tables = {key: value for key, value in self.__dict__.items() if key in SystemTables.model_fields or key == name}
        changed = {key: {**tables[key].model_dump(), **new} for key, new in (changes or {}).items() if key in tables}
        return SystemSettings.model_validate({**tables, **changed, "name": name})

    @classmethod
    def _with_plugins(cls, tables: Mapping[str, type[Settings]]) -> dict[str, Any]:
        """Return the fields of a class that also has the tables of plug-ins."""
        return {name: (table, table()) for name, table in tables.items()}

    @classmethod
    def _taken_names(cls) -> dict[str, Any]:
        """Return the names that a table of a plug-in cannot have, with the types of those fields."""
        return {name: field.annotation for name, field in cls.model_fields.items()}


@cache
def _with_tables(kind: type[Tables], tables: tuple[tuple[str, type[Settings]], ...]) -> type[Tables]:
    """Return a class of settings with a field for each of these tables, if it does not have one yet."""
    new, taken = {}, kind._taken_names()
    for name, table in tables:
        if name not in taken:
            new[name] = table
        elif taken[name] is not table:
            owner = package(SYSTEMS.plugins()[name])
            raise ConfigError(f"the package {owner} adds a system {name!r}, but recipes have a key of this name")
    fields = kind._with_plugins(new) if new else {}
    return create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **fields) if fields else kind


def changes_of(tables: Mapping[str, type[Settings]]) -> dict[str, Any]:
    """Return a field for each table in which a stage may change some of its settings."""
    return {
        name: (_changes(name, table) | None, Field(None, description=f"changes of [{name}] in this stage"))
        for name, table in tables.items()
    }


def _changes(name: str, table: type[Settings]) -> Any:
    """Return a table with the same settings, all of which may be left out; combinations are checked when merged."""
    fields: dict[str, Any] = {}
    for key, field in table.model_fields.items():
        kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        fields[key] = (Optional[kind], Field(None, description=field.description))  # noqa: UP045
    return create_model(f"{table.__name__}Changes", __base__=Settings, __doc__=f"Changes of [{name}].", **fields)


if TYPE_CHECKING:

    class StageTables(Settings):
        """The tables of a system, as far as a stage changes them."""

else:
    StageTables = create_model(
        "StageTables",
        __base__=Settings,
        **changes_of({key: field.annotation for key, field in SystemTables.model_fields.items() if key != "name"}),
    )


def check_system(name: str, tables: SystemTables) -> None:
    """Refuse settings of a system that contradict each other."""
    check = SYSTEMS[name].check
    if check is not None:
        check(tables)


class SystemSettings(SystemTables):
    """All that is needed to build a model, apart from its vocabulary."""

    name: SystemName = "transformer"

    @classmethod
    def _systems_named(cls, values: Mapping[str, Any]) -> list[Any]:
        return [values.get("name")]

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_system(self.name, self)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system: what it is made of, how it is built, and where the paper has it."""

    name: str
    title: str
    builder: str | Callable[..., Any]
    """A function, or "module:function", which is imported only when a model is built; see `docaps.model.builders`."""
    settings: type[Settings] | None = None
    """The class of its table in a recipe."""
    context: str = "none"
    """The name of its way to use context; "none" for a sentence-level system."""
    sees: str = "earlier source sentences"
    """What it sees besides the sentence, in a few words."""
    regulariser: bool = False
    """Whether training adds the correlation of source and target capsules to the objective."""
    paper: str | None = None
    """The row of the paper's Table 2, if any."""
    sublayers: bool = False
    """Whether its layers have sub-layers that attend to a context; [context] says how they start."""
    control: bool = False
    """Whether it is a control, whose context cannot help."""
    check: Callable[[SystemTables], None] | None = None
    """Refuse settings that contradict each other, by a ValueError."""

    @property
    def table(self) -> str | None:
        """The name of its table in a recipe; that of a plug-in is called like the system."""
        shared = (name for name, field in SystemTables.model_fields.items() if field.annotation is self.settings)
        return None if self.settings is None else next(shared, self.name)

    def load_builder(self) -> Callable[..., Any]:
        """Return the function that builds the model; import it if need be."""
        if callable(self.builder):
            return self.builder
        return load(EntryPoint(self.name, self.builder, GROUP))  # type: ignore[no-any-return]


class Systems(Mapping[str, System]):
    """All systems by name: the built-in ones, then those of other packages, which are imported when first used."""

    def __init__(self, built_in: Sequence[System]) -> None:
        self._built_in = {system.name: system for system in built_in}
        self._loaded: dict[str, System] = {}

    def plugins(self) -> Mapping[str, EntryPoint]:
        """Return the entry points of other packages, without importing them."""
        found = entries(GROUP)
        for name in found.keys() & self._built_in.keys():
            owner = package(found[name])
            raise ConfigError(f"the package {owner} adds a system {name!r}, which is built in: rename or uninstall it")
        return found

    def __getitem__(self, name: str) -> System:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._loaded:
            self._loaded[name] = _load(self.plugins()[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self.plugins()

    def __iter__(self) -> Iterator[str]:
        return iter((*self._built_in, *self.plugins()))

    def __len__(self) -> int:
        return len(self._built_in) + len(self.plugins())


def _load(entry: EntryPoint) -> System:
    """Import the system of another package and check it."""
    system, owner = load(entry), f"{entry.name!r} of the package {package(entry)}"
    if not isinstance(system, System):
        raise ConfigError(f"{owner}: {entry.value!r} is {type(system).__name__}; expected docaps.config.System")
    if system.name != entry.name:
        raise ConfigError(f"{owner}: the system calls itself {system.name!r}; both names must be the same")
    if system.settings is not None and not issubclass(system.settings, Settings):
        raise ConfigError(f"{owner}: {system.settings.__name__} must be a subclass of docaps.config.Settings")
    return system


def _check_concat(tables: SystemTables) -> None:
    concat, sentences = tables.concat, tables.history.sentences
    if concat.mode == "2-to-2" and sentences != 1:
        raise ValueError(
            f'concat.mode = "2-to-2" joins one earlier sentence: set history.sentences = 1 (found {sentences}), '
            'or concat.mode = "n-to-n"'
        )
    if concat.mode == "k-to-1" and concat.discount:
        raise ValueError(
            f"concat.discount = {concat.discount} weights earlier translations, which k-to-1 does not read: set "
            'concat.mode = "n-to-n"'
        )


def _check_qcn(tables: SystemTables) -> None:
    qcn, start = tables.qcn, tables.context.start
    if qcn.silent and start == "copied":
        raise ValueError('qcn.silent = true contradicts context.start = "copied": choose one')
    if start == "silent" and qcn.gate:
        raise ValueError('context.start = "silent" needs qcn.gate = false: a gate halves the states at first')
    if start == "copied" and qcn.capsule_size not in (None, tables.model.size):
        raise ValueError(
            'context.start = "copied" needs capsules of the size of the states that the copied maps read: leave '
            f"qcn.capsule_size out (found {qcn.capsule_size}; model.size is {tables.model.size})"
        )
    if tables.history.positions and qcn.reads == "states":
        raise ValueError('history.positions = true needs qcn.reads = "embeddings": states know their positions')
    size = qcn.capsule_size or tables.model.size
    if qcn.start == "parts" and qcn.capsules > size:
        raise ValueError(f'qcn.start = "parts" needs at most {size} capsules, the size of one (found {qcn.capsules})')


def _check_zhang(tables: SystemTables) -> None:
    if tables.context.start == "silent":
        raise ValueError(
            'context.start = "silent" is not for zhang, whose gates halve the states at first: use "random" or "copied"'
        )


def _built_in(name: str, title: str, settings: type[Settings] | None = None, **parts: Any) -> System:
    """Describe a system of docaps: `qcn+reg` has the context `qcn`, the builder `build_qcn` and the regulariser."""
    base, _, regulariser = name.partition("+")
    return System(
        name=name,
        title=title,
        builder=f"docaps.model.builders:build_{base.replace('-', '_')}",
        settings=settings,
        context=base if settings else "none",
        sublayers=settings in (QcnSettings, ZhangSettings),
        regulariser=bool(regulariser),
        **parts,
    )


BUILT_IN: tuple[System, ...] = (
    _built_in("transformer", "sentence-level Transformer", sees="–", paper="Transformer"),
    _built_in("transformer+reg", "Transformer + regularisation", sees="–", paper="Transformer + Regularization Term"),
    _built_in("qcn", "Transformer + QCN", QcnSettings, paper="Transformer + QCN", check=_check_qcn),
    _built_in(
        "qcn+reg",
        "Transformer + QCN + regularisation",
        QcnSettings,
        paper="Transformer + QCN + Regularization Term",
        check=_check_qcn,
    ),
    _built_in("capsnet", "Transformer + plain capsule network", QcnSettings, check=_check_qcn),
    _built_in("capsnet+reg", "Transformer + plain capsule network + regularisation", QcnSettings, check=_check_qcn),
    _built_in(
        "zhang",
        "context attention with gates (Zhang et al. 2018)",
        ZhangSettings,
        paper="Transformer-DocNMT",
        check=_check_zhang,
    ),
    _built_in(
        "han",
        "hierarchical attention (Miculicich et al. 2018)",
        HanSettings,
        paper="HAN-DocNMT",
        sees="earlier sentences",
    ),
    _built_in(
        "san", "selective attention (Maruf et al. 2019)", SanSettings, paper="SAN-DocNMT", sees="the whole document"
    ),
    _built_in(
        "concat",
        "concatenation (Tiedemann and Scherrer 2017)",
        ConcatSettings,
        sees="earlier sentences",
        check=_check_concat,
    ),
    _built_in(
        "qcn-shuffled",
        "control: QCN with other histories",
        QcnSettings,
        sees="sentences of other documents",
        control=True,
        check=_check_qcn,
    ),
    _built_in(
        "qcn-noise",
        "control: QCN with a random memory",
        QcnSettings,
        sees="noise, always the same",
        control=True,
        check=_check_qcn,
    ),
)
SYSTEMS = Systems(BUILT_IN)
