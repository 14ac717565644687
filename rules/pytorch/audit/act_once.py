"""Find what every process does though once per job is enough.

What:
    Files that are written, downloads, trackers and prints are followed on three processes: what all
    of them do at the same place is done several times, and what the first process of each machine
    does is done once per machine.

Why:
    Several processes that write one file at the same time leave it broken, or each overwrite what
    the others wrote. ``local_rank == 0`` holds on every machine of a job.

Before:
    torch.save(model.module.state_dict(), "model.pt")

After:
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")

Refuses when:
    never: these are warnings, and notes for prints.

Source:
    https://pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from transpile.audit.model import Audit, Process
from transpile.audit.ranks import Ranks, condition
from transpile.audit.started import is_done_before, is_started
from transpile.facts.events import Branch, Event
from transpile.facts.values import (
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    only_constant,
)
from transpile.plan.effects.effect_search import classify, find_effects
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.flow.ranks import Ranks as GuardedPlaces
from transpile.plan.graph import called_names, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch.audit._checkpoints import keys, loaded
from transpile.rules.pytorch.audit._fixes import on_main_rank
from transpile.rules.pytorch.audit._log_files import (
    empties,
    is_of_main_logger,
    logs_on_main,
    silences,
)
from transpile.rules.pytorch.audit._meetings import meetings
from transpile.rules.pytorch.audit._paths import (
    is_local,
    is_operation,
    is_touched,
    is_unpacked,
    names_share,
    own_path,
)
from transpile.rules.pytorch.effects._once import BARRIERS, VOCABULARY

CODES = {
    "AU401": "every process writes a file",
    "AU402": "a file is written once per machine",
    "AU403": "every process reports to a tracker",
    "AU404": "every process downloads",
    "AU405": "every process prints",
    "AU406": "a checkpoint has the keys of the wrap",
    "AU407": "what is loaded goes to the device that it was saved from",
}
ONLY_WARNS = True
FILES = (Kind.WRITE, Kind.OPEN, Kind.CONTAINER, Kind.LOG_FILE, Kind.LOG_SET_UP)
TRACKERS = (Kind.TRACKER, Kind.SWITCHED_TRACKER)
SPOKEN = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.PROGRESS)
#: Making a folder that may exist harms nobody.
FOLDERS = frozenset({"os.makedirs", "os.mkdir", "mkdir()"})
#: Packages whose functions do not ask which process this is.
READ = frozenset({"torch", "numpy", "builtins", "torchvision", *sys.stdlib_module_names})
EVERYWHERE = (True, True, True)
PER_MACHINE = (True, False, True)
#: What writes a log, into a file that is opened to be added to.
HANDLERS = ("FileHandler", "basicConfig", "dictConfig", "fileConfig")


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each effect; one for all prints."""
    ranks = Ranks(audit.vocabulary)
    places = GuardedPlaces(audit.plan, BARRIERS)
    effects = find_effects(audit.plan, VOCABULARY)
    silenced = silences(audit, ranks) or logs_on_main(
        audit, effects, lambda effect: guarded(audit, ranks, effect)
    )
    replaced = any(event.kind == "store" and event.name == "print" for event in audit.facts.events)
    spoken = 0
    downloads: list[Effect] = []
    per_machine: list[Effect] = []
    first: Effect | None = None
    for effect in effects:
        makes = made_by(audit, effect)
        if makes == PER_MACHINE and one_machine(audit):
            continue
        if makes not in (EVERYWHERE, PER_MACHINE) or guarded(audit, ranks, effect):
            continue
        if is_done_before(audit, tuple(effect.events)) or by_engine(audit, effect):
            continue
        if effect.kind in SPOKEN and makes == EVERYWHERE:
            if told(ranks, effect):
                # It says which process it comes from.
                continue
            if (effect.kind is Kind.LOG and silenced) or (effect.kind is Kind.PRINT and replaced):
                continue
            spoken += 1
            first = first or effect
        elif effect.kind in FILES and effect.word not in FOLDERS:
            if own_path(audit, ranks, effect) or in_turn(audit, places, effect):
                continue
            if names_share(audit, effect) or is_of_unknown(effect) or is_touched(effect):
                continue
            if effect.kind is Kind.LOG_FILE and given_apart(audit, effect):
                continue
            if effect.word.endswith(HANDLERS) and not empties(effect):
                if silenced or is_of_main_logger(audit, effect):
                    continue
            if makes == PER_MACHINE:
                per_machine.append(effect)
            else:
                yield everywhere(audit, effect)
        elif effect.kind in TRACKERS and makes == EVERYWHERE:
            if told(ranks, effect) or given_apart(audit, effect):
                continue
            yield warning(
                "AU403",
                effect,
                "every process makes a tracker of its own here and reports what it has seen of the "
                "data",
                "make it, and report to it, on rank 0 alone",
            )
        elif effect.kind is Kind.DOWNLOAD and makes == EVERYWHERE:
            if not (is_local(effect) or in_turn(audit, places, effect) or is_unpacked(effect)):
                if not fetched_before(audit, effect, effects):
                    downloads.append(effect)
    if first is not None:
        lines = "this line comes" if spoken == 1 else f"this and {spoken - 1} more lines come"
        yield Remark.note(
            "AU405", first, f"every process prints: {lines} once for each", "print on rank 0 alone"
        )
    if per_machine:
        yield once_per_machine(per_machine)
    if downloads:
        more = f", and in {len(downloads) - 1} more places" if len(downloads) > 1 else ""
        yield warning(
            "AU404",
            downloads[0],
            f"every process may download or unpack here{more} at the same time, into the same "
            "folder",
            "let rank 0 go first, then a barrier, then the others",
        )
    yield from keys(audit)
    yield from loaded(audit)


def in_turn(audit: Audit, places: GuardedPlaces, effect: Effect) -> bool:
    """Whether the processes come to an effect one after the other."""
    if any(places.in_turn(event.stack) for event in effect.events):
        return True
    return waited(audit, audit.first, effect) < waited(audit, audit.second, effect)


def fetched_before(audit: Audit, effect: Effect, effects: list[Effect]) -> bool:
    """Whether what starts the processes has fetched the same before, so that they find it."""
    fetched = {
        callee
        for other in effects
        if other.kind is Kind.DOWNLOAD and is_done_before(audit, tuple(other.events))
        for event in other.events
        for callee in event.callee
        if isinstance(callee, External)
    }
    return all(
        is_started(audit, event) and not fetched.isdisjoint(event.callee) for event in effect.events
    )


def waited(audit: Audit, process: Process, effect: Effect) -> int:
    """How often a process has met the others before an effect."""
    orders = [event.order for event in process.events_at.get(id(effect.node), ())]
    first = min(orders, default=0)
    return sum(meeting.event.order < first for meeting in meetings(audit, process))


def made_by(audit: Audit, effect: Effect) -> tuple[bool, ...]:
    """Whether each process has an effect: what a call is given may switch it off."""
    return tuple(
        any(
            event.kind == "call" and classify(event, VOCABULARY) is not None
            for event in process.events_at.get(id(effect.node), ())
        )
        for process in audit.processes
    )


def one_machine(audit: Audit) -> bool:
    """Whether the processes join by their number on the machine, as those of one machine alone."""
    ranks: list[dict[int, Constant | None]] = []
    for process in (audit.first, audit.elsewhere):
        ranks.append({})
        for event in process.facts.calls_to("torch.distributed.init_process_group"):
            given = event.arguments.get("rank", 4)
            constant = only_constant(given.values) if given is not None else None
            ranks[-1].setdefault(id(event.node), constant)
    here, there = ranks
    return any(rank is not None and rank == there.get(node) for node, rank in here.items())


def guarded(audit: Audit, ranks: Ranks, effect: Effect) -> bool:
    """Whether an open test of the process's number is around every occurrence of an effect."""
    events = audit.first.events_at.get(id(effect.node), [])
    calls = [event for event in events if event.kind == "call"]
    return bool(calls) and all(
        ranks.open_test(audit, event) is not None or unread_test(audit, event) for event in calls
    )


def unread_test(audit: Audit, event: Event) -> bool:
    """Whether a test around an event asks what no module of the script or library here tells."""
    for frame in event.stack:
        test = condition(frame.node) if isinstance(frame, Branch) else None
        for value in audit.facts.values_of(test) if test is not None else ():
            if any(is_unread(one) for one in (value, *walk_back((value,), is_operation))):
                return True
    return False


def is_unread(value: object) -> bool:
    """Whether a value is what a function gives whose module is not to be had, or a part of that."""
    while isinstance(value, Opaque) and value.kind == "item" and len(value.operands[0]) == 1:
        value = value.operands[0][0]
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    return any(
        isinstance(callee, Unknown)
        or (isinstance(callee, Opaque) and callee.name == "getattr")
        or (isinstance(callee, External) and callee.name.partition(".")[0] not in READ)
        for callee in value.callee
    )


def by_engine(audit: Audit, effect: Effect) -> bool:
    """Whether a library that distributes writes something, as it sees fit."""
    prefixes = tuple(audit.plan.table.distributed_engines)
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and any(
            name.startswith(prefixes)
            for value in callee.operands[0]
            for name in called_names(value)
        )
        for event in effect.events
        for callee in event.callee
    )


def everywhere(audit: Audit, effect: Effect) -> Remark:
    """What to say of a file that all processes write."""
    return Remark.warn(
        "AU401",
        effect,
        f"{effect.word} runs on every process, and all of them write the same file",
        "write on rank 0 alone, and let the others wait in a barrier where they read it",
        on_main_rank(audit, effect.module, effect.node),
    )


def once_per_machine(effects: list[Effect]) -> Remark:
    """What to say of files that the first process of each machine writes, in one line."""
    first, count = effects[0], len(effects) - 1
    more = f", as what is written in {count} more place{'s' * (count > 1)}," if count else ""
    return warning(
        "AU402",
        first,
        f"{first.word} runs{more} on the first process of every machine: where they share a file "
        "system, they write the same file",
        "ask for the rank in the whole job, not for that on the machine",
    )


def given_apart(audit: Audit, effect: Effect) -> bool:
    """Whether another process gives a call something else, such as an empty list."""
    own, others = (
        {
            (number, item.keyword): tuple(map(form, item.values))
            for event in process.events_at.get(id(effect.node), ())
            if event.kind == "call"
            for number, item in enumerate(event.arguments.items)
        }
        for process in (audit.first, audit.second)
    )
    return own != others


def form(value: Value) -> object:
    """What of a value is the same in two runs that do the same."""
    if isinstance(value, (Constant, External)):
        return value
    if isinstance(value, (Sequence, Mapping)):
        return type(value), len(getattr(value, "elements", ()))
    return type(value), id(getattr(value, "node", None))


def warning(code: str, effect: Effect, message: str, advice: str) -> Remark:
    """A warning about an effect."""
    return Remark.warn(code, effect, message, advice)


def is_of_unknown(effect: Effect) -> bool:
    """Whether a method that writes is one of an object of which nothing is known."""
    receivers = [
        value
        for event in effect.events
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
        for value in callee.operands[0]
    ]
    return bool(receivers) and all(map(is_unread, receivers))


def told(ranks: Ranks, effect: Effect) -> bool:
    """Whether a call is given the number of the process."""
    return any(ranks.show(item.values) for event in effect.events for item in event.arguments.items)
