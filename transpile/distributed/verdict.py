"""Whether a script is distributed already, or may be where nobody can look."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from transpile.distributed.modules import Names, Text
from transpile.distributed.packages import QUIET
from transpile.distributed.reach import Reach, Reached
from transpile.plan.table import Table
from transpile.records import dataclass
from transpile.text.import_words import imported_words

#: Parts of names that say that something is about several processes.
HINTS = re.compile(
    r"dist(?!ance|ill|ort|inct|inguish|rib_?ution|ribution)|ddp|world|rank|launch|parallel|slurm|"
    r"process_group|init_env|init_process|gpu|setup|set_up",
    re.IGNORECASE,
)
#: Ends of names of what starts processes.
LAUNCHERS = re.compile(r"(?:launch|spawn|init_dist|init_distributed|init_process_group)\w*$")
#: Parts of names that say that something trains.
TRAINING = re.compile(
    r"train|engine|fit|epoch|run|loop|solver|learn|optimi[sz]e|main", re.IGNORECASE
)
#: More modules than this are not read for their words.
MOST_MODULES = 2_000


@dataclass(frozen=True)
class Place:
    """A place in a module of the project.

    Args:
        path: the module, as findings name it.
        line: 1-based.
        column: 1-based.
    """

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class Verdict:
    """What names alone say of a script.

    Args:
        why: how it is distributed; empty where it is not for sure.
        evidence: what shows that it may be; empty where nothing does.
        unread: what cannot be read and may join the processes, or wrap and shard.
        place: where that is called.
    """

    why: str = ""
    evidence: str = ""
    unread: str = ""
    place: Place | None = None


def look(entry: Text, find: Callable[[str], Text | None], table: Table) -> Verdict:
    """What the names that a script comes to say of it; cheap where it has no word of the matter.

    Args:
        entry: the script.
        find: a module of its project by its name from the script's folder.
        table: the words of its framework.

    Raises:
        TooLarge: the modules that it comes to hold more than is read.
    """
    words = words_of(table)
    if words is None or not any(words.search(text.text) for text in texts(entry, find)):
        return Verdict()
    known: set[str] = set()

    def settled(calls: list[Reached]) -> bool:
        for call in calls:
            if table.engine_of(call.name):
                return True
            known.update({"start"} if call.name in table.distributed_starts else ())
            known.update({"use"} if call.name in table.distributed_uses else ())
        return len(known) == 2

    reach = reach_of(entry, find, table, settled)
    engine = first(reach.calls, lambda name: bool(table.engine_of(name)))
    if engine is not None:
        return Verdict(why=f"it is distributed by {table.engine_of(engine.name)} ({engine.name})")
    start = first(reach.calls, lambda name: name in table.distributed_starts)
    use = first(reach.calls, lambda name: name in table.distributed_uses)
    if start is not None and use is not None:
        return Verdict(
            why=f"it initialises a process group ({start.name}) and uses it ({use.name})"
        )
    sampler = next((call for call in reach.calls if shares(table, call)), None)
    launched = next((name for name, _, _ in reach.variables if name in table.launch_variables), "")
    seen = start or use or sampler
    evidence = seen.name if seen is not None else launched
    if not evidence:
        return Verdict()
    unknown = sorted(unread(reach, table), key=lambda call: not HINTS.search(call.name))
    if not unknown or (seen is None and not HINTS.search(unknown[0].name)):
        return Verdict(evidence=evidence)
    return Verdict("", evidence, unknown[0].name, place_of(unknown[0]))


def hidden_training(entry: Text, find: Callable[[str], Text | None], table: Table) -> str:
    """The module that was not found and may hold the training; empty where there is none."""
    calls = unread(reach_of(entry, find, table, lambda calls: False), table)
    likely = [call.name for call in calls if TRAINING.search(call.name)]
    return likely[0].rpartition(".")[0] or likely[0] if likely else ""


def launched_by(entry: Text, find: Callable[[str], Text | None], table: Table) -> str:
    """The function of a module that was not found which may start processes; empty without any."""
    calls = unread(reach_of(entry, find, table, lambda calls: False), table)
    return next((call.name for call in calls if LAUNCHERS.search(call.name)), "")


def reach_of(
    entry: Text,
    find: Callable[[str], Text | None],
    table: Table,
    settled: Callable[[list[Reached]], bool],
) -> Reach:
    """What a script comes to; the packages of engines are never the project's own."""
    foreign = tuple(f"{name.rstrip('.').partition('.')[0]}." for name in table.distributed_engines)
    own = {f"{package}." for package in table.packages}
    words = (*table.distributed_starts, *table.distributed_uses)
    kept = (*(name for name in foreign if name not in own), *(f"{name}." for name in words))
    return Reach(Names(entry, find, kept), table.dialect.canonical, settled)


def words_of(table: Table) -> re.Pattern[str] | None:
    """The words without which a script has nothing to do with the matter; None without any."""
    own = {package.partition(".")[0] for package in table.packages}
    names = {*table.distributed_starts, *table.distributed_uses, *table.rank_samplers}
    words = {*table.launch_variables, *(name.rpartition(".")[2] for name in names)}
    for name in table.distributed_engines:
        top, _, rest = name.rstrip(".").partition(".")
        words.add(rest.rpartition(".")[2] if top in own else top)
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, words)))})\b") if words else None


def texts(entry: Text, find: Callable[[str], Text | None]) -> Iterator[Text]:
    """The script and the modules of its project that it may import."""
    pending, seen = [entry], {""}
    while pending and len(seen) < MOST_MODULES:
        text = pending.pop()
        yield text
        for dotted in imported_words(text.text):
            name = absolute(dotted, text)
            parts = name.split(".") if name else []
            for count in range(1, len(parts) + 1):
                part = ".".join(parts[:count])
                if part not in seen:
                    seen.add(part)
                    found = find(part)
                    if found is not None:
                        pending.append(found)


def absolute(dotted: str, importer: Text) -> str:
    """A name from the script's folder; empty where a relative one leaves it."""
    stripped = dotted.lstrip(".")
    level = len(dotted) - len(stripped)
    if not level:
        return stripped
    package = importer.name.split(".") if importer.name else []
    if package and not importer.is_package:
        package.pop()
    if level - 1 > len(package):
        return ""
    kept = package[: len(package) - level + 1]
    return ".".join([*kept, stripped] if stripped else kept)


def first(calls: Iterable[Reached], fits: Callable[[str], bool]) -> Reached | None:
    """The first call whose name fits."""
    return next((call for call in calls if fits(call.name)), None)


def shares(table: Table, call: Reached) -> bool:
    """Whether a call makes a sampler for this process's share, not for one that is written down."""
    if call.name not in table.rank_samplers or not isinstance(call.node, ast.Call):
        return False
    given = [*call.node.args[1:3], *(k.value for k in call.node.keywords if k.arg in PLACES)]
    return not given or not all(isinstance(value, ast.Constant) for value in given)


PLACES = ("rank", "num_replicas")


def unread(reach: Reach, table: Table) -> list[Reached]:
    """The calls into packages of which nothing is known."""
    quiet = QUIET | {name.partition(".")[0] for name in (*table.packages, *table.quiet_packages)}
    return [call for call in reach.calls if call.name.partition(".")[0] not in quiet]


def place_of(call: Reached) -> Place:
    """Where a call stands."""
    return Place(call.module.source.path, call.node.lineno, call.node.col_offset + 1)
