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

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit, Process
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Values, only_constant
from transpile.finding import Fix, Level
from transpile.layout.arguments import add_argument
from transpile.layout.expressions import replace_expression
from transpile.layout.fixes import fix_of
from transpile.plan.effects.effect_search import classify, find_effects
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.flow.ranks import Ranks as GuardedPlaces
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch.audit._meetings import GATHERS, SHARDS, is_wrap, meetings
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
FILES = (Kind.WRITE, Kind.OPEN, Kind.CONTAINER, Kind.LOG_FILE)
SPOKEN = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.PROGRESS)
#: Making a folder that may exist harms nobody.
FOLDERS = frozenset({"os.makedirs", "os.mkdir", "mkdir()"})
FULL_STATE = "torch.distributed.fsdp.FullStateDictConfig"
EVERYWHERE = (True, True, True)
PER_MACHINE = (True, False, True)


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each effect; one for all prints."""
    ranks = Ranks(audit.vocabulary)
    places = GuardedPlaces(audit.plan, BARRIERS)
    silenced = silences(audit, ranks)
    replaced = any(event.kind == "store" and event.name == "print" for event in audit.facts.events)
    spoken = 0
    downloads: list[Effect] = []
    first: Effect | None = None
    for effect in find_effects(audit.plan, VOCABULARY):
        makes = made_by(audit, effect)
        if makes == PER_MACHINE and one_machine(audit):
            continue
        if makes not in (EVERYWHERE, PER_MACHINE) or guarded(audit, ranks, effect):
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
            if not own_path(audit, ranks, effect) and not in_turn(audit, places, effect):
                yield written(effect, makes)
        elif effect.kind is Kind.TRACKER and makes == EVERYWHERE and not told(ranks, effect):
            yield warning(
                "AU403",
                effect,
                "every process makes a tracker of its own here and reports what it has seen of the "
                "data",
                "make it, and report to it, on rank 0 alone",
            )
        elif effect.kind is Kind.DOWNLOAD and makes == EVERYWHERE:
            if not is_local(effect) and not in_turn(audit, places, effect):
                downloads.append(effect)
    if first is not None:
        lines = "this line comes" if spoken == 1 else f"this and {spoken - 1} more lines come"
        yield Remark(
            "AU405",
            Level.NOTE,
            first.module,
            first.node,
            f"every process prints: {lines} once for each",
            "print on rank 0 alone",
        )
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


#: Libraries that lock what they fetch, so that processes of a machine may come at once.
LOCKING = ("transformers.", "diffusers.", "datasets.", "huggingface_hub.", "timm.", "tokenizers.")


def is_local(effect: Effect) -> bool:
    """Whether a download is locked by its library, or fetches nothing from elsewhere."""
    for event in effect.events:
        names = [callee.name for callee in event.callee if isinstance(callee, External)]
        source = event.arguments.get("source", 99)
        constant = only_constant(source.values) if source is not None else None
        local = constant is not None and constant.value == "local"
        if not local and not (names and all(name.startswith(LOCKING) for name in names)):
            return False
    return True


def in_turn(audit: Audit, places: GuardedPlaces, effect: Effect) -> bool:
    """Whether the processes come to an effect one after the other."""
    if any(places.in_turn(event.stack) for event in effect.events):
        return True
    return waited(audit, audit.first, effect) < waited(audit, audit.second, effect)


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
    ranks = []
    for process in (audit.first, audit.elsewhere):
        for event in process.facts.calls_to("torch.distributed.init_process_group"):
            given = event.arguments.get("rank", 4)
            constant = only_constant(given.values) if given is not None else None
            ranks.append(constant.value if constant is not None else None)
    return len(ranks) == 2 and ranks[0] is not None and ranks[0] == ranks[1]


def silences(audit: Audit, ranks: Ranks) -> bool:
    """Whether the script sets up its loggers in another way on other processes."""
    for event in audit.facts.calls:
        for callee in event.callee:
            name = getattr(callee, "name", "").rpartition(".")[2]
            if name in ("setLevel", "disable", "addHandler", "removeHandler", "basicConfig"):
                if not audit.on_all(event.node):
                    return True
                if any(ranks.depend(item.values) for item in event.arguments.items):
                    return True
    return False


def guarded(audit: Audit, ranks: Ranks, effect: Effect) -> bool:
    """Whether an open test of the process's number is around every occurrence of an effect."""
    events = audit.first.events_at.get(id(effect.node), [])
    calls = [event for event in events if event.kind == "call"]
    return bool(calls) and all(ranks.open_test(audit, event) is not None for event in calls)


def written(effect: Effect, makes: tuple[bool, ...]) -> Remark:
    """What to say of a file that several processes write."""
    if makes == PER_MACHINE:
        return warning(
            "AU402",
            effect,
            f"{effect.word} runs on the first process of every machine: where they share a file "
            "system, they write the same file",
            "ask for the rank in the whole job, not for that on the machine",
        )
    return warning(
        "AU401",
        effect,
        f"{effect.word} runs on every process, and all of them write the same file",
        "write on rank 0 alone, and let the others wait in a barrier where they read it",
    )


def warning(code: str, effect: Effect, message: str, advice: str) -> Remark:
    """A warning about an effect."""
    return Remark(code, Level.WARNING, effect.module, effect.node, message, advice)


def own_path(audit: Audit, ranks: Ranks, effect: Effect) -> bool:
    """Whether each process writes a file of its own, or none."""
    keyword, position = VOCABULARY.paths.get(effect.word, ("file", 0))
    for event in effect.events:
        argument = event.arguments.get(keyword, position)
        values: Values = argument.values if argument is not None else ()
        receivers = [
            value
            for callee in event.callee
            if isinstance(callee, Opaque) and callee.kind == "attribute"
            for value in callee.operands[0]
        ]
        if ranks.depend((*values, *receivers)):
            return True
    others = audit.second.events_at.get(id(effect.node), [])
    for event in others:
        argument = event.arguments.get(keyword, position)
        if argument is not None and to_nowhere(argument.values):
            return True
    return False


def to_nowhere(values: Values) -> bool:
    """Whether a file is a temporary one, or no file at all."""
    for value in walk_back(values):
        if value == External("os.devnull"):
            return True
        if any(name.startswith(("tempfile.", "io.")) for name in called_names(value)):
            return True
    constant = only_constant(values)
    return constant is not None and constant.value == "/dev/null"


def told(ranks: Ranks, effect: Effect) -> bool:
    """Whether a call is given the number of the process."""
    return any(ranks.show(item.values) for event in effect.events for item in event.arguments.items)


def keys(audit: Audit) -> Iterator[Remark]:
    """Checkpoints of a wrapped model's own state."""
    loads_wrapped = any(
        isinstance(callee, Opaque)
        and callee.name == "load_state_dict"
        and callee.operands
        and any(is_wrap(audit, value) for value in callee.operands[0])
        for event in audit.first.facts.calls
        for callee in event.callee
    )
    for event in audit.first.facts.calls_to(*VOCABULARY.saves):
        saved = event.arguments.get("obj", 0)
        for value in walk_back(saved.values) if saved is not None else ():
            if any(
                name == "state_dict" and any(plainly_wrapped(audit, v) for v in receiver)
                for name, receiver in method_calls(value)
            ):
                yield Remark(
                    "AU406",
                    Level.NOTE if loads_wrapped else Level.WARNING,
                    event.module,
                    event.node,
                    "the keys of this checkpoint begin with 'module.', so that the model itself "
                    "cannot load it",
                    "save model.module.state_dict()",
                    of_the_model(audit, event, value) if not loads_wrapped else None,
                )
                break


def of_the_model(audit: Audit, event: Event, value: object) -> Fix | None:
    """The change that asks the model behind the wrap for its state, where that is one place."""
    node, module = getattr(value, "node", None), getattr(value, "module", None)
    if module is not event.module or not isinstance(node, cst.Call):
        return None
    found = [receiver for name, receiver in method_calls(value) if name == "state_dict"]  # type: ignore[arg-type]
    wraps = [one for receiver in found for one in receiver]
    if not wraps or not all(wraps_always(audit, one) for one in wraps):
        return None
    if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "state_dict":
        return None
    source = event.module.source
    edits = replace_expression(source, node.func.attr, "module.state_dict")
    return fix_of(source, edits, "Save the state of the model behind the wrap.")


def wraps_always(audit: Audit, value: object) -> bool:
    """Whether a value is the result of a wrap itself, called with a model."""
    if not isinstance(value, Opaque) or value.kind != "call" or not value.callee:
        return False
    wraps = audit.vocabulary.wraps
    return all(
        isinstance(one, External) and wraps.get(one.name) == "module" and "fsdp" not in one.name
        for one in value.callee
    )


def plainly_wrapped(audit: Audit, value: object) -> bool:
    """Whether a value is a wrap that puts a word before the names of parameters."""
    names = called_names(value)  # type: ignore[arg-type]
    return any(name in audit.vocabulary.wraps and "fsdp" not in name for name in names)


def to_cpu(event: Event) -> Fix | None:
    """The change that loads a checkpoint to the CPU."""
    if not isinstance(event.node, cst.Call) or event.arguments.get("map_location", 1) is not None:
        return None
    source = event.module.source
    edits = add_argument(source, event.node, 'map_location="cpu"')
    return fix_of(source, edits, "Load it to the CPU.")


def loaded(audit: Audit) -> Iterator[Remark]:
    """Checkpoints that every process loads to where they were saved from."""
    uses_cuda = any(
        (isinstance(callee, Opaque) and callee.name == "cuda")
        or getattr(callee, "name", "").startswith("torch.cuda.")
        for event in audit.facts.calls
        for callee in event.callee
    )
    if audit.facts.calls_to(*GATHERS, *SHARDS, FULL_STATE):
        # A whole state that was gathered from all processes lies in memory of the CPU.
        return
    seen: set[int] = set()
    for event in audit.facts.calls_to("torch.load"):
        location = event.arguments.get("map_location", 1)
        given = location is not None and location.values != (Constant(None),)
        if given or event.arguments.unknown_because or not uses_cuda or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        if audit.on_all(event.node):
            yield Remark(
                "AU407",
                Level.WARNING,
                event.module,
                event.node,
                "what was saved from a GPU goes back to that GPU here, on every process: all of "
                "them fill the first one",
                'load it with map_location="cpu", or to this process\'s device',
                to_cpu(event),
            )
