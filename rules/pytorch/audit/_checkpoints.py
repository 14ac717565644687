"""Checkpoints: with the keys of a wrap, or loaded to the GPU that they were saved from."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Instance, Opaque, Value
from transpile.finding import Fix, Level
from transpile.layout.arguments import add_argument
from transpile.layout.expressions import replace_expression
from transpile.layout.fixes import fix_of
from transpile.plan.graph import called_names, method_calls, origin, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch.audit._meetings import GATHERS, SHARDS, is_wrap, wraps_of
from transpile.rules.pytorch.effects._once import VOCABULARY

WORD = re.compile(r"[\"']module\.[\"']")
FULL_STATE = "torch.distributed.fsdp.FullStateDictConfig"


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
    loads_wrapped = loads_wrapped or takes_word_off(audit)
    for event in audit.first.facts.calls_to(*VOCABULARY.saves):
        saved = event.arguments.get("obj", 0)
        made_of = list(walk_back(saved.values)) if saved is not None else []
        if any(is_plain_state(audit, value) for value in made_of):
            # On some way it is the state of the model itself, which a flag of the job decides.
            continue
        for value in made_of:
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


def takes_word_off(audit: Audit) -> bool:
    """Whether a module of the script names the word before the keys, as what takes it off does."""
    modules = {id(event.module): event.module for event in audit.first.facts.calls}
    return any(WORD.search(module.source.text) for module in modules.values())


def is_plain_state(audit: Audit, value: Value) -> bool:
    """Whether a value is the state of a model that is behind a wrap."""
    behind = wraps_of(audit, audit.first)
    owners = [one for name, owner in method_calls(value) for one in owner if name == "state_dict"]
    return any(id(getattr(origin(one), "node", None)) in behind for one in owners) and not any(
        plainly_wrapped(audit, one) for one in owners
    )


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


#: What has a state without tensors.
SCHEDULERS = ("torch.optim.lr_scheduler.", "transformers.get_")


def states_of(audit: Audit, loading: Event) -> list[Opaque] | None:
    """Whose states with tensors are set from what is loaded; None where nobody's is set."""
    found: list[Opaque] = []
    known = False
    results = {id(value) for value in loading.result}
    for event in audit.facts.calls:
        for callee in event.callee:
            name = getattr(callee, "name", "")
            if name != "load_state_dict" or not isinstance(callee, Opaque):
                continue
            given = [value for item in event.arguments.items for value in item.values]
            if not any(id(value) in results for value in walk_back(tuple(given), is_not_loaded)):
                continue
            known = True
            made_by = [name for value in callee.operands[0] for name in kinds_of(value)]
            if not made_by or not all(name.startswith(SCHEDULERS) for name in made_by):
                found.append(callee)
    return found if known else None


def is_not_loaded(value: Value) -> bool:
    """Whether a value is not what is read from a file, whose name says nothing of what is in it."""
    return not isinstance(value, Opaque) or "torch.load" not in called_names(value)


def kinds_of(value: Value) -> tuple[str, ...]:
    """What made an object: functions outside the project, or what its class is derived from."""
    if isinstance(value, Instance):
        return value.cls.external_bases()
    return tuple(called_names(value)) if isinstance(value, Opaque) else ()


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
    ranks = Ranks(audit.vocabulary)
    for event in audit.facts.calls_to("torch.load"):
        path = event.arguments.get("f", 0)
        if path is not None and ranks.depend(path.values):
            # It comes from a file of the process's own.
            continue
        states = states_of(audit, event)
        if states is not None and not states:
            continue
        location = event.arguments.get("map_location", 1)
        given = location is not None and location.values != (Constant(None),)
        if given or event.arguments.unknown_because or not uses_cuda or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        if audit.on_all(event.node):
            yield Remark(
                "AU407",
                Level.WARNING if states else Level.NOTE,
                event.module,
                event.node,
                "what was saved from a GPU goes back to that GPU here, on every process: all of "
                "them fill the first one",
                'load it with map_location="cpu", or to this process\'s device',
                to_cpu(event),
            )
