"""Effects: calls that others can see, such as output, files, trackers and downloads.

Every process that runs a script has its effects. What an effect is follows from what is called,
by its dotted name or by the object that a method belongs to, never from a variable's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Partial,
    Unknown,
    Value,
    Values,
    only_constant,
)
from transpile.plan.effect_names import (
    ASKS,
    CONSOLE,
    CONTAINERS,
    DOWNLOAD_METHODS,
    DOWNLOAD_PREFIXES,
    DOWNLOADS,
    FLUSHES,
    HANDLE_MAKERS,
    LOG_FILES,
    LOG_METHODS,
    MAGICS,
    OPENS,
    PATH_WRITES,
    PLOTS,
    PROGRAMS,
    PROGRESS,
    SHELL_MAGICS,
    SHELL_PROGRAMS,
    SHELLS,
    SHOWS,
    SWITCHED_PREFIXES,
    SWITCHED_TRACKERS,
    TRACK_METHODS,
    TRACKER_FUNCTIONS,
    TRACKERS,
    WRITE_METHODS,
    WRITES,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass, field


class Kind(Enum):
    """What a call does that others can see."""

    PRINT = "prints"
    CONSOLE = "writes to standard output"
    LOG = "logs"
    LOG_FILE = "opens a log file"
    OPEN = "opens a file for writing"
    MODIFY = "opens a file for reading and writing"
    CONTAINER = "opens a container file for writing"
    HANDLE = "writes into an open file"
    WRITE = "writes"
    PLOT = "draws"
    TRACKER = "starts a tracker"
    TRACK = "records in a tracker"
    SWITCHED_TRACKER = "starts a tracker that can be switched off"
    SWITCHED_TRACK = "records in a tracker that can be switched off"
    PROGRESS = "shows progress"
    DOWNLOAD = "downloads"
    PROCESS = "runs another program"
    SHOW = "shows a window"
    CALL = "has effects in another module"
    FLUSH = "flushes"
    ASK = "waits for a person"


@dataclass(frozen=True)
class Vocabulary:
    """What a framework adds to the effects of well-known libraries.

    Args:
        writes: functions that write a file.
        write_methods: methods that do, whatever they belong to.
        reads: functions that read a file.
        read_methods: methods that do, whatever they belong to.
        saves: functions that write checkpoints.
        loads: functions that read them.
        paths: writing functions to the keyword and the position of the path, where not 0.
        trackers: classes of trackers whose objects are only written to.
        downloads: functions that may fetch data or weights.
        download_flags: dotted prefix to the arguments that make a call below it fetch something.
        pure: dotted prefixes of what only computes.
        impure: dotted prefixes below those that draw random numbers, talk to other processes or
            change something.
    """

    writes: frozenset[str] = frozenset()
    write_methods: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    read_methods: frozenset[str] = frozenset()
    saves: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    paths: dict[str, tuple[str, int]] = field(default_factory=dict)
    trackers: frozenset[str] = frozenset()
    downloads: frozenset[str] = frozenset()
    download_flags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pure: tuple[str, ...] = ()
    impure: tuple[str, ...] = ()


@dataclass(eq=False)
class Effect:
    """One call in the text that has an effect, in one or several contexts.

    Args:
        kind: what it does.
        word: what is called, for messages.
        module: where it stands.
        node: the call.
        events: what the run saw of it.
    """

    kind: Kind
    word: str
    module: Module
    node: cst.Call
    events: list[Event] = field(default_factory=list)

    @property
    def event(self) -> Event:
        """What the run saw of it first."""
        return self.events[0]


#: Methods of a logger that no call of the standard library silences.
LOGURU = {
    "trace": Kind.CONSOLE,
    "debug": Kind.CONSOLE,
    "info": Kind.CONSOLE,
    "success": Kind.CONSOLE,
    "add": Kind.WRITE,
}
#: Functions that open a file, to the position of the mode and the mode without one.


def find_effects(plan: Plan, vocabulary: Vocabulary) -> list[Effect]:
    """Every call of the project that has an effect, in the order in which the run meets them."""
    found: dict[int, Effect] = {}
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        known = found.get(id(event.node))
        if known is not None:
            known.events.append(event)
            continue
        classified = classify(event, vocabulary)
        if classified is not None:
            kind, word = classified
            found[id(event.node)] = Effect(kind, word, event.module, event.node, [event])
    return list(found.values())


def classify(event: Event, vocabulary: Vocabulary) -> tuple[Kind, str] | None:
    """What a call does and what it is called; None where it has no effect of its own."""
    for callee in event.callee:
        if isinstance(callee, Partial):
            continue
        if isinstance(callee, External):
            kind = classify_function(callee.name, event, vocabulary)
            if kind is not None:
                return kind, callee.name.removeprefix("builtins.")
        elif isinstance(callee, Opaque):
            kind = classify_method(callee, event, vocabulary)
            if kind is not None:
                return kind, f"{callee.name}()" if callee.kind == "attribute" else "this call"
        elif isinstance(callee, Unknown) and isinstance(event.node, cst.Call):
            name = event.node.func.attr.value if isinstance(event.node.func, cst.Attribute) else ""
            if name in TRACK_METHODS:
                return Kind.TRACK, f"{name}()"
            if name in WRITE_METHODS:
                return Kind.WRITE, f"{name}()"
    return None


def classify_function(name: str, event: Event, vocabulary: Vocabulary) -> Kind | None:
    """What a function outside the project does."""
    if name == "builtins.print":
        return print_kind(event, vocabulary)
    if name in CONSOLE:
        return Kind.CONSOLE
    if name in FLUSHES:
        return Kind.FLUSH
    if name in OPENS or name in CONTAINERS:
        return open_kind(name, event)
    if name.startswith(("logging.", "absl.logging.")):
        return log_kind(name, event)
    if name.startswith("loguru.logger."):
        return LOGURU.get(name.rpartition(".")[2])
    if name in ASKS:
        return Kind.ASK
    if name in vocabulary.trackers or name in TRACKERS:
        return Kind.TRACKER
    if name in SWITCHED_TRACKERS:
        return Kind.SWITCHED_TRACKER
    if name in WRITES or name in vocabulary.writes:
        return Kind.HANDLE if writes_into_handle(event, vocabulary) else Kind.WRITE
    if name.startswith(TRACKER_FUNCTIONS):
        return Kind.TRACK
    if name.startswith(SWITCHED_PREFIXES):
        return Kind.SWITCHED_TRACK
    if name in PROGRESS:
        return Kind.PROGRESS
    if name in PROGRAMS:
        return Kind.PROCESS
    if name in SHOWS:
        return Kind.SHOW
    if downloads(name, event, vocabulary):
        return Kind.DOWNLOAD
    if name.startswith(PLOTS):
        return Kind.PLOT
    return None


def print_kind(event: Event, vocabulary: Vocabulary) -> Kind | None:
    """Where a ``print`` goes: standard output unless ``file=`` says otherwise."""
    target = event.arguments.keyword("file")
    if target is None:
        return Kind.PRINT
    names = {value.name for value in target.values if isinstance(value, External)}
    if names and names <= {"sys.stderr", "sys.__stderr__"}:
        return None
    if any(is_handle(value, vocabulary) for value in target.values):
        return Kind.HANDLE
    return Kind.PRINT


def mode_of(event: Event, position: int, default: str) -> set[str] | None:
    """The modes that a file may be opened with; None where they are not known."""
    argument = event.arguments.get("mode", position)
    if argument is None:
        return None if event.arguments.unknown_because else {default}
    found = set()
    for value in argument.values:
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            return None
        found.add(value.value)
    return found


def open_kind(name: str, event: Event) -> Kind | None:
    """What opening a file does: nothing that matters where it is only read."""
    container = name in CONTAINERS
    read_only = event.arguments.keyword("readonly")
    if container and read_only is not None and read_only.values == (Constant(True),):
        return None
    position, default = CONTAINERS[name] if container else OPENS[name]
    modes = mode_of(event, position, default)
    if modes is None:
        return Kind.MODIFY
    modes = {mode.split(":")[0] for mode in modes}
    if not any(set(mode) & set("wax+c") for mode in modes):
        return None
    if container:
        return Kind.CONTAINER
    if any("r" in mode for mode in modes):
        return Kind.MODIFY
    return Kind.OPEN


def log_kind(name: str, event: Event) -> Kind | None:
    """What a function of the logging package does."""
    last = name.rpartition(".")[2]
    if name in LOG_FILES:
        return Kind.LOG_FILE
    if name == "logging.basicConfig" and event.arguments.keyword("filename") is not None:
        return Kind.LOG_FILE
    return Kind.LOG if last in LOG_METHODS else None


def classify_method(callee: Opaque, event: Event, vocabulary: Vocabulary) -> Kind | None:
    """What a method of something outside the project does."""
    if callee.kind != "attribute" or not callee.operands:
        return Kind.DOWNLOAD if chosen_by_name_downloads(callee, event, vocabulary) else None
    name, receivers = callee.name, callee.operands[0]
    makers = {maker for value in receivers for maker in makers_of(value)}
    if name in LOG_METHODS and "logging.getLogger" in makers:
        return Kind.LOG
    if makers & SHELLS and runs_program(name, event):
        return Kind.PROCESS
    if "rich.console.Console" in makers and name in ("print", "log", "rule", "print_json"):
        return Kind.CONSOLE
    if any(maker in vocabulary.trackers or maker in TRACKERS for maker in makers):
        return Kind.TRACK
    if any(maker in SWITCHED_TRACKERS for maker in makers):
        return Kind.SWITCHED_TRACK
    if any(is_handle(value, vocabulary) for value in receivers):
        return Kind.HANDLE
    if name == "open" and any(is_path(value) for value in receivers):
        return path_open_kind(event)
    if name in PATH_WRITES and any(is_path(value) for value in receivers):
        return Kind.WRITE
    writes = name in WRITE_METHODS or name in vocabulary.write_methods
    if writes or (name in ("to_json", "to_html") and event.arguments.items):
        return Kind.HANDLE if writes_into_handle(event, vocabulary) else Kind.WRITE
    if name == "save" and event.arguments.items and saves_file(receivers):
        return Kind.HANDLE if writes_into_handle(event, vocabulary) else Kind.WRITE
    if name == "write" and any(isinstance(v, Opaque) and v.kind == "parameter" for v in receivers):
        return Kind.WRITE
    if name in TRACK_METHODS:
        return Kind.TRACK
    if name in DOWNLOAD_METHODS:
        return Kind.DOWNLOAD
    if any(maker.startswith(PLOTS) for maker in makers):
        return Kind.SHOW if name == "show" else Kind.PLOT
    return None


def runs_program(method: str, event: Event) -> bool:
    """Whether a method of a notebook's shell runs another program, or writes a file."""
    if method in SHELL_PROGRAMS:
        return True
    given = event.arguments.positional()
    magic = only_constant(given[0].values) if method in SHELL_MAGICS and given else None
    return magic is not None and str(magic.value).split(" ")[0] in MAGICS


def path_open_kind(event: Event) -> Kind | None:
    """What ``Path.open`` does."""
    modes = mode_of(event, 0, "r")
    if modes is None:
        return Kind.MODIFY
    if not any(set(mode) & set("wax+") for mode in modes):
        return None
    return Kind.MODIFY if any("r" in mode for mode in modes) else Kind.OPEN


def makers_of(value: Value) -> Iterator[str]:
    """The dotted names of the calls that a value comes from, through attributes and methods."""
    for _ in range(10):
        if not isinstance(value, Opaque):
            return
        if value.kind == "call":
            yield from called_names(value)
            inner = [v for v in value.callee if isinstance(v, Opaque)]
            if not inner:
                return
            value = inner[0]
        elif value.kind in ("attribute", "item", "element") and value.operands:
            if value.kind == "attribute" and value.name in ("handlers", "level", "name"):
                return
            behind = next((v for v in value.operands[0] if isinstance(v, (Opaque, External))), None)
            if isinstance(behind, External):
                yield behind.name
            if not isinstance(behind, Opaque):
                return
            value = behind
        else:
            return


def is_path(value: Value) -> bool:
    """Whether a value is a ``pathlib.Path``, made by joining or by methods of one, too."""
    for _ in range(20):
        if not isinstance(value, Opaque):
            return False
        if value.kind == "operation" and value.name == "Divide":
            operands = value.operands
        elif value.kind == "attribute" and value.name in ("parent", "parents"):
            operands = value.operands
        elif value.kind == "call":
            names = called_names(value)
            if any(name.startswith("pathlib.") for name in names):
                return True
            receivers = [v for v in value.callee if isinstance(v, Opaque) and v.operands]
            operands = receivers[0].operands if receivers else ()
        else:
            return False
        following = [v for group in operands for v in group if isinstance(v, Opaque)]
        if not following:
            return False
        if len(following) > 1:
            return any(is_path(v) for v in following)
        value = following[0]
    return False


def is_handle(value: Value, vocabulary: Vocabulary) -> bool:
    """Whether a value is a file opened for writing, or a writer made on one."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    stand_in = Event("call", value.node, value.module, (), value.callee, value.arguments, (), "", 0)
    for name in called_names(value):
        if name in OPENS or name in CONTAINERS:
            return open_kind(name, stand_in) in (Kind.OPEN, Kind.CONTAINER)
        if name in HANDLE_MAKERS:
            return any(
                is_handle(given, vocabulary)
                for argument in value.arguments.items
                for given in argument.values
            )
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name == "open"
        and any(is_path(receiver) for receiver in callee.operands[0])
        and path_open_kind(stand_in) is Kind.OPEN
        for callee in value.callee
    )


def writes_into_handle(event: Event, vocabulary: Vocabulary) -> bool:
    """Whether a writing call is given a file that the project has opened for writing."""
    return any(
        is_handle(value, vocabulary)
        for argument in event.arguments.items
        for value in argument.values
    )


def saves_file(receivers: Values) -> bool:
    """Whether ``save`` of these receivers writes a file: the project's own methods do their own."""
    return not any(
        isinstance(value, (Instance, Class, Function, BoundMethod, Unknown)) for value in receivers
    )


def downloads(name: str, event: Event, vocabulary: Vocabulary) -> bool:
    """Whether a call may fetch something from the network or unpack it."""
    if name in DOWNLOADS or name in vocabulary.downloads or name.startswith(DOWNLOAD_PREFIXES):
        return True
    if name.rpartition(".")[2] in DOWNLOAD_METHODS and "." in name:
        return True
    for prefix, flags in vocabulary.download_flags:
        if name.startswith(prefix):
            return any(switched_on(event.arguments.keyword(flag)) for flag in flags) or (
                "download" in flags and positional_download(name, event)
            )
    return False


def positional_download(name: str, event: Event) -> bool:
    """Whether the last of many positional arguments of a data set switches downloading on."""
    given = event.arguments.positional()
    return name.rpartition(".")[2][:1].isupper() and len(given) >= 5 and switched_on(given[-1])


def switched_on(argument: Argument | None) -> bool:
    """Whether an argument may be true."""
    if argument is None:
        return False
    constant = only_constant(argument.values)
    return constant is None or bool(constant.value)


def chosen_by_name_downloads(callee: Opaque, event: Event, vocabulary: Vocabulary) -> bool:
    """Whether something picked by name out of a package, ``models.__dict__[arch]``, fetches."""
    packages = [
        value.name for group in callee.operands for value in group if isinstance(value, External)
    ]
    for package in packages:
        base = package.removesuffix(".__dict__")
        for prefix, flags in vocabulary.download_flags:
            if f"{base}.".startswith(prefix):
                return any(switched_on(event.arguments.keyword(flag)) for flag in flags)
    return False
