"""Which calls have effects: by the names of functions, and by methods of what functions gave."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    Class,
    External,
    Instance,
    Opaque,
    Partial,
    Unknown,
    Value,
    only_constant,
)
from transpile.plan.effects.download_effects import (
    chosen_by_name_downloads,
    downloads,
    inherited_constructor,
)
from transpile.plan.effects.effect_names import (
    ASKS,
    CONSOLE,
    CONTAINERS,
    DOWNLOAD_METHODS,
    FLUSHES,
    LOG_METHODS,
    MAGICS,
    OPENS,
    PATH_WRITES,
    PLOTS,
    PROGRAMS,
    PROGRESS,
    READ_PROGRAMS,
    SHELL_MAGICS,
    SHELL_PROGRAMS,
    SHELLS,
    SHOWS,
    SWITCHED_PREFIXES,
    SWITCHED_TRACKERS,
    TEXT_FILES,
    TEXTS,
    TRACK_METHODS,
    TRACKER_FUNCTIONS,
    TRACKERS,
    WRITE_METHODS,
    WRITES,
    WRITES_OF,
)
from transpile.plan.effects.effects import Effect, Kind, Vocabulary
from transpile.plan.effects.file_effects import (
    is_handle,
    is_path,
    makers_of,
    open_kind,
    path_open_kind,
    saves_file,
    writes_into_handle,
)
from transpile.plan.effects.log_effects import log_kind
from transpile.plan.flow.redirects import redirected_to
from transpile.plan.graph import called_names
from transpile.plan.model import Plan

#: Methods of a logger that no call of the standard library silences.
LOGURU = {
    "trace": Kind.CONSOLE,
    "debug": Kind.CONSOLE,
    "info": Kind.CONSOLE,
    "success": Kind.CONSOLE,
    "add": Kind.WRITE,
}


#: What keeps what is written into it.
IN_MEMORY_TEXTS = frozenset({"io.StringIO", "io.BytesIO"})
#: Functions that write where they are told a stream.
GIVING_TEXT = frozenset({"yaml.dump", "yaml.safe_dump", "yaml.dump_all"})


def find_effects(plan: Plan, vocabulary: Vocabulary) -> list[Effect]:
    """Every call of the project that has an effect, in the order in which the run meets them."""
    found: dict[int, Effect] = {}
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call):
            continue
        known = found.get(id(event.node))
        if known is not None:
            known.events.append(event)
            continue
        classified = classify(event, vocabulary)
        if classified is not None:
            kind, word = classified
            if kind is Kind.REPORT and redirected_to(event):
                continue
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
        elif isinstance(callee, Class):
            made = inherited_constructor(callee)
            if made and downloads(made, event, vocabulary):
                return Kind.DOWNLOAD, made
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
    if name in vocabulary.reports:
        return Kind.REPORT
    if name in CONSOLE:
        return Kind.CONSOLE
    if name in GIVING_TEXT and len(event.arguments.positional()) < 2:
        # Without a stream they give the text back.
        if event.arguments.keyword("stream") is None and not event.arguments.unknown_because:
            return None
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
    if name.startswith(TRACKER_FUNCTIONS + vocabulary.tracker_functions):
        return Kind.TRACK
    if name.startswith(SWITCHED_PREFIXES):
        return Kind.SWITCHED_TRACK
    if name in PROGRESS:
        return Kind.PROGRESS
    if name in PROGRAMS or (name in READ_PROGRAMS and is_statement(event)):
        return Kind.PROCESS
    if name in SHOWS:
        return Kind.SHOW
    if downloads(name, event, vocabulary):
        return Kind.DOWNLOAD
    if name.startswith(PLOTS):
        return Kind.PLOT
    return None


def is_statement(event: Event) -> bool:
    """Whether a call stands by itself, so that nothing reads what it gives."""
    return isinstance(event.module.source.parent(event.node), cst.Expr)


def print_kind(event: Event, vocabulary: Vocabulary) -> Kind | None:
    """Where a ``print`` goes: standard output unless ``file=`` says otherwise."""
    target = event.arguments.keyword("file")
    if target is None:
        return None if is_redirected(event) else Kind.PRINT
    names = {value.name for value in target.values if isinstance(value, External)}
    if names and names <= {"sys.stderr", "sys.__stderr__"}:
        return None
    if any(is_handle(value, vocabulary) for value in target.values):
        return Kind.HANDLE
    return None if target.values and all(map(keeps_text, target.values)) else Kind.PRINT


def keeps_text(value: Value) -> bool:
    """Whether something that is printed into is no file, but may be asked for it later."""
    if isinstance(value, Instance):
        own = any(
            isinstance(one, Class) and "write" in one.scope.names for one in value.cls.ancestry()
        )
        return own or not IN_MEMORY_TEXTS.isdisjoint(value.cls.external_bases())
    return (
        isinstance(value, Opaque)
        and value.kind == "call"
        and (bool(IN_MEMORY_TEXTS & set(called_names(value))))
    )


def is_redirected(event: Event) -> bool:
    """Whether what is printed here goes into something that keeps it, by ``redirect_stdout``."""
    given = redirected_to(event)
    return bool(given) and all(map(keeps_text, given))


def classify_method(callee: Opaque, event: Event, vocabulary: Vocabulary) -> Kind | None:
    """What a method of something outside the project does."""
    if callee.kind != "attribute" or not callee.operands:
        return Kind.DOWNLOAD if chosen_by_name_downloads(callee, event, vocabulary) else None
    name, receivers = callee.name, callee.operands[0]
    makers = {maker for value in receivers for maker in makers_of(value)}
    if makers & vocabulary.apart:
        return None
    if name in LOG_METHODS and "logging.getLogger" in makers:
        return Kind.LOG
    if makers & SHELLS and runs_program(name, event):
        return Kind.PROCESS
    if "rich.console.Console" in makers and name in ("print", "log", "rule", "print_json"):
        return Kind.CONSOLE
    if name == "write" and any(is_bar(value) for value in receivers):
        # A bar that is switched off still writes.
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
    if (
        name in WRITE_METHODS
        or name in vocabulary.write_methods
        or (name in TEXTS and names_file(event))
        or any(
            name == word and maker.startswith(start)
            for start, word in WRITES_OF.items()
            for maker in makers
        )
    ):
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


def names_file(event: Event) -> bool:
    """Whether a method that gives a text else is told a file to write it to."""
    given = event.arguments
    return bool(given.positional() or given.unknown_because) or any(
        item.keyword in TEXT_FILES for item in given.items
    )


def is_bar(value: Value) -> bool:
    """Whether a value is what gives the elements of something else, and shows how far it is."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name == "iterate"


def runs_program(method: str, event: Event) -> bool:
    """Whether a method of a notebook's shell runs another program, or writes a file."""
    if method in SHELL_PROGRAMS:
        return True
    given = event.arguments.positional()
    magic = only_constant(given[0].values) if method in SHELL_MAGICS and given else None
    return magic is not None and str(magic.value).split(" ")[0] in MAGICS
