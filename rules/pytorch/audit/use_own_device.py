"""Find processes that use each other's GPU.

What:
    A GPU that is named by a constant, and used by every process; and ``cuda`` without a number
    where nothing selects this process's GPU.

Why:
    All processes of a machine then use its first GPU. NCCL refuses that, or waits for ever; other
    backends run out of memory, and nothing gets faster.

Before:
    device = torch.device("cuda:0")

After:
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))

Refuses when:
    every process names the same GPU; without a number, it is a warning, as a launcher may show each
    process one GPU alone.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.audit.keeping import destination
from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks, is_given
from transpile.audit.started import is_done_before
from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.query import query
from transpile.rule import Remark
from transpile.rules.pytorch.audit import DDP
from transpile.rules.pytorch.audit._data import engines
from transpile.rules.pytorch.devices._gpu_selection import chosen, sees_fewer

CODES = {
    "AU501": "every process uses the same GPU",
    "AU502": "nothing selects this process's GPU",
}
NUMBERED = re.compile(r"cuda:\d+")
SELECTS = frozenset({"torch.cuda.set_device", "torch.cuda.device"})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each GPU that is named, or one where none is selected."""
    ranks = Ranks(audit.vocabulary)
    if selects_by_environment(audit) or engines(audit):
        return
    seen: set[int] = set()
    named = False
    for event in audit.facts.calls:
        why = fixed(event)
        if why and audit.on_all(event.node):
            named = True
            module, node = named_at(event)
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield Remark.error(
                "AU501",
                (module, node),
                f"{why} on every process: all processes of a machine use the same GPU",
                "use the GPU of LOCAL_RANK, and torch.cuda.set_device it before the process group",
            )
    if named or any(sets_current(event) for event in audit.facts.calls):
        return
    if not audit.facts.calls_to(*audit.vocabulary.joins):
        # What joins them is not to be read, and may select the GPU there.
        return
    numbered = any(selects(ranks, event) for event in audit.facts.calls)
    settings = asked_for(audit)
    for event in audit.facts.calls:
        # One device for everything may be any; beside numbered ones, it is the first.
        if numbered and not moves_to_current(event, settings):
            continue
        if unnumbered(event, settings) and audit.on_all(event.node):
            yield Remark.warn(
                "AU502",
                event,
                "this is the first GPU on every process, as nothing selects another",
                'call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) first',
            )
            return


def named_at(event: Event) -> tuple[Module, cst.CSTNode]:
    """Where the GPU that a call uses is named: where the device is made, or at the call."""
    for item in event.arguments.items:
        for value in item.values:
            if is_gpu(value) and isinstance(value, Opaque):
                return value.module, value.node
    return event.module, event.node


def fixed(event: Event) -> str:
    """How a call uses a GPU that is named by a constant; empty where it does not."""
    for callee in event.callee:
        if isinstance(callee, External):
            if callee.name in SELECTS and number(event.arguments.get("device", 0)):
                return "torch.cuda.set_device selects a GPU"
            if callee.name == DDP and first_id(event.arguments.keyword("device_ids")):
                return "device_ids names a GPU"
            if callee.name.startswith("torch.") and names_gpu(event.arguments.keyword("device")):
                return "device= names a GPU"
        elif isinstance(callee, Opaque) and callee.kind == "attribute":
            first = event.arguments.get("device", 0)
            if callee.name == "to" and names_gpu(first):
                return ".to() names a GPU"
            if callee.name == "cuda" and (number(first) or names_gpu(first)):
                return ".cuda() names a GPU"
    return ""


def names_gpu(argument: object) -> bool:
    """Whether an argument is a GPU such as ``cuda:0``, or else the CPU."""
    values: Values = getattr(argument, "values", ())
    return any(is_gpu(value) for value in values) and all(
        is_gpu(value) or isinstance(value, Constant) or is_device(value) for value in values
    )


def is_device(value: Value) -> bool:
    """Whether a value is a ``torch.device`` of constants."""
    return (
        isinstance(value, Opaque)
        and "torch.device" in called_names(value)
        and all(isinstance(v, Constant) for item in value.arguments.items for v in item.values)
    )


def is_gpu(value: Value) -> bool:
    """Whether a value is the text ``cuda:0``, or a device made of that or of its number."""
    if is_device(value):
        assert isinstance(value, Opaque)
        return names_gpu(value.arguments.get("device", 0)) or number(
            value.arguments.get("index", 1)
        )
    return (
        type(value) is Constant
        and isinstance(value.value, str)
        and NUMBERED.fullmatch(value.value) is not None
    )


def number(argument: object) -> bool:
    """Whether an argument is the number of a GPU as a constant."""
    values: Values = getattr(argument, "values", ())
    return bool(values) and all(
        type(v) is Constant and isinstance(v.value, int) and not isinstance(v.value, bool)
        for v in values
    )


def first_id(argument: object) -> bool:
    """Whether ``device_ids`` is a list of constants."""
    values: Values = getattr(argument, "values", ())
    return bool(values) and all(
        isinstance(v, Sequence)
        and bool(v.elements)
        and all(
            bool(e) and all(type(x) is Constant and isinstance(x.value, int) for x in e)
            for e in v.elements
        )
        for v in values
    )


def sets_current(event: Event) -> bool:
    """Whether a call selects the current GPU."""
    return any(isinstance(c, External) and c.name in SELECTS for c in event.callee)


def moves_to_current(event: Event, settings: frozenset[str]) -> bool:
    """Whether a call moves something to the current GPU, or makes it there."""
    return makes_there(event, settings) or any(
        isinstance(c, Opaque) and c.name in ("cuda", "to") for c in event.callee
    )


def makes_there(event: Event, settings: frozenset[str]) -> bool:
    """Whether a call is one such as ``torch.zeros(1, device="cuda")``."""
    return any(
        isinstance(c, External) and c.name.startswith("torch.") for c in event.callee
    ) and is_cuda(event.arguments.keyword("device"), settings)


def selects(ranks: Ranks, event: Event) -> bool:
    """Whether a call names a GPU by the process's number."""
    for callee in event.callee:
        items = event.arguments.items
        if isinstance(callee, External) and callee.name == DDP:
            items = tuple(item for item in items if item.keyword == "device_ids")
        elif not (isinstance(callee, External) and callee.name == "torch.device"):
            if not (isinstance(callee, Opaque) and callee.name in ("to", "cuda")):
                continue
        if any(may_tell(ranks, v) for item in items for v in item.values):
            return True
    return False


def may_tell(ranks: Ranks, value: object) -> bool:
    """Whether a value may come from the process's number or from the user."""
    for one in walk_back((value,)):  # type: ignore[arg-type]
        if ranks.tells(one):
            return True
        if isinstance(one, Opaque) and one.kind in ("attribute", "parameter", "item"):
            return True
    return False


def unnumbered(event: Event, settings: frozenset[str]) -> bool:
    """Whether a call uses the current GPU."""
    for callee in event.callee:
        first = event.arguments.get("device", 0)
        if makes_there(event, settings):
            return True
        if isinstance(callee, External) and callee.name == "torch.device":
            return is_cuda(first, settings) and event.arguments.get("index", 1) is None
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in ("to", "cuda") and is_cuda(first, settings):
                return True
            if callee.name == "cuda" and first is None:
                return True
    return False


def is_cuda(argument: object, settings: frozenset[str]) -> bool:
    """Whether an argument is the text ``cuda``, or a device made of it, where there is a GPU.

    Settings are that where nobody says otherwise, and all processes are given the same.
    """
    values: Values = getattr(argument, "values", ())
    return any(
        (type(v) is Constant and v.value == "cuda") or is_unnumbered_device(v, settings)
        for v in values
    ) or (bool(values) and all(is_setting(v, settings) for v in values))


def is_setting(value: Value, settings: frozenset[str]) -> bool:
    """Whether a value is one of some settings of the command line."""
    return (
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name in settings
        and is_given(value)
    )


def is_unnumbered_device(value: Value, settings: frozenset[str]) -> bool:
    """Whether a value is the ``torch.device`` of the current GPU."""
    if not isinstance(value, Opaque) or "torch.device" not in called_names(value):
        return False
    given = value.arguments
    first = given.get("device", 0) or given.get("type")
    return given.get("index", 1) is None and is_cuda(first, settings)


def selects_by_environment(audit: Audit) -> bool:
    """Whether each process shows itself one GPU by an environment variable.

    What starts the processes shows all of them the same.
    """
    return any(
        sees_fewer(event)
        and not is_done_before(audit, (event,))
        and not all(isinstance(value, Constant) for value in chosen(event) or ())
        for event in audit.facts.stores
    )


@query
def asked_for(audit: Audit) -> frozenset[str]:
    """The arguments of the command line that are the current GPU where nobody says otherwise."""
    found: set[str] = set()
    for event in audit.facts.calls:
        if any(isinstance(c, Opaque) and c.name == "add_argument" for c in event.callee):
            default = event.arguments.keyword("default")
            if default is not None and default.values == (Constant("cuda"),):
                found.add(destination(event.arguments))
    return frozenset(found)
