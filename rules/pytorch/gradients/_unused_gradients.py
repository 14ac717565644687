"""Backward passes whose gradients of a model nobody uses, or of which the next one takes care.

In the generator's step of a GAN the gradients of the discriminator are computed, and zeroed before
its own step.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, External, Instance, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.flow.places import Statement, index_in, statement_of
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.averaging import GRADIENT_READERS
from transpile.plan.models.learning import outputs, training_forwards
from transpile.plan.models.parts import parts_of, walk_parts
from transpile.plan.models.second_passes import used_by
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.records import dataclass
from transpile.rules.pytorch.gradients._window_tests import assigned
from transpile.rules.pytorch.processes._script_arguments import is_path

#: What computes parts of the forward pass anew in the backward pass, or looks into both.
ENTANGLING = ("torch.utils.checkpoint.", "torch.compile", "torch.jit.", "torch.func.")
#: Other ways to write the call of a model.
FORWARD = frozenset({"forward", "__call__"})
#: Methods of a model that leave its gradients alone.
HARMLESS = frozenset({"train", "eval", "state_dict", "modules", "named_modules", "children"})


class Fate(Enum):
    """What happens next to the gradients that a backward pass leaves."""

    ZEROED = "zeroed"
    ADDED = "added to"
    USED = "used"
    LEFT = "left to the next round"


@dataclass(frozen=True, eq=False)
class Needless:
    """Statements that need not average, or not even compute, gradients of a model.

    Args:
        module: where they are.
        first: the first of them.
        last: the last of them, a sibling or the same.
        model: the expression of the model.
        frozen: its gradients are not used at all; else a later backward pass averages them, too.
    """

    module: Module
    first: Statement
    last: Statement
    model: str
    frozen: bool


def needless(plan: Plan) -> list[Needless]:
    """All of them, in the order of the text."""
    if plan.options.strategy != "ddp" or entangled(plan):
        return []
    found: dict[int, Needless] = {}
    for model in plan.trained_models:
        if len(model.optimizers) != 1 or wrapped_already(plan, model):
            continue
        wrap = find_wrap(plan, model)
        if not isinstance(wrap, Wrap) or wrap.thawed or len(wrap.models) != 1:
            continue
        for each in Passes(plan, model).find():
            found.setdefault(id(each.first), each)
    return sorted(found.values(), key=lambda one: one.module.source.span(one.first).start)


def entangled(plan: Plan) -> bool:
    """Whether something looks at gradients, or at how they come about, by other ways."""
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, External) and callee.name.startswith(ENTANGLING):
                return True
            if isinstance(callee, Opaque) and "hook" in callee.name:
                return True
    return any(
        node.attr.value == "grad"
        and not any(isinstance(value, External) for value in plan.facts.values_of(node))
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(cst.Attribute)
    )


class Passes:
    """The backward passes through one model.

    Args:
        plan: the plan.
        model: the model.
    """

    def __init__(self, plan: Plan, model: Model) -> None:
        self.plan = plan
        self.model = model
        self.forwards = training_forwards(plan, model)
        self.backwards = sorted(
            (b for b in plan.backwards if model in b.models and not b.event.detached),
            key=lambda backward: backward.event.order,
        )
        self.used = {id(b): used_by(plan, b, self.forwards) for b in self.backwards}
        self.parts = parts_of(plan, model)
        self.steps = {id(step) for step in model.optimizers[0].steps}

    def find(self) -> Iterator[Needless]:
        """The statements that need not average."""
        if len(self.backwards) < 2 or len({id(b.event.node) for b in self.backwards}) < 2:
            return
        loops = {id(b.batch_loop.node) for b in self.backwards if b.batch_loop is not None}
        if len(loops) != 1 or any(b.batch_loop is None for b in self.backwards):
            return
        loop = self.backwards[0].batch_loop
        assert loop is not None
        if not is_straight(loop) or not self.all_in(loop):
            return
        found = [(backward, *self.fate(backward, loop)) for backward in self.backwards]
        for backward, fate, other in found:
            # One place may be reached from several.
            node = backward.event.node
            if any(b.event.node is node and each is not fate for b, each, _ in found):
                continue
            place = None
            if fate is Fate.ZEROED and self.learns_elsewhere(backward):
                place = self.frozen_place(backward)
            elif fate is Fate.ADDED and other is not None and other.event.node is not node:
                if sum(b.event.node is node for b in self.backwards) == 1:
                    place = self.gathered_place(backward, other, loop)
            if place is not None:
                yield place

    def all_in(self, loop: Loop) -> bool:
        """Whether the model steps in the loop alone, and nothing outside looks at its gradients."""
        for event in self.plan.facts.events:
            if event.detached or within(event, loop) is not None:
                continue
            if id(event) in self.steps or self.reads(event, outside=True):
                return False
        return True

    def fate(self, backward: Backward, loop: Loop) -> tuple[Fate, Backward | None]:
        """What happens next to the gradients of the model that a backward pass leaves."""
        order = backward.event.order
        inside = [
            event
            for event in self.plan.facts.events
            if not event.detached and within(event, loop) is not None
        ]
        inside.sort(key=lambda event: event.order)
        behind = [event for event in inside if event.order > order]
        fate, other = self.first_fate(behind, loop)
        if fate is Fate.ZEROED and leaves_early(loop):
            passes = {id(backward.event) for backward in self.backwards}
            kept = [event for event in inside if id(event) not in passes]
            fate = self.first_fate(kept, loop)[0]
        elif fate is Fate.LEFT:
            fate = self.first_fate([event for event in inside if event.order < order], loop)[0]
            fate = fate if fate is Fate.ZEROED else Fate.USED
        return fate, other

    def first_fate(self, events: list[Event], loop: Loop) -> tuple[Fate, Backward | None]:
        """What the first of some events that matters does to the gradients."""
        passes = {id(backward.event): backward for backward in self.backwards}
        for event in events:
            if id(event) in passes:
                return Fate.ADDED, passes[id(event)]
            if self.zeroes(event):
                if not arms_in(event, loop):
                    return Fate.ZEROED, None
                continue
            if id(event) in self.steps or self.reads(event):
                return Fate.USED, None
        return Fate.LEFT, None

    def zeroes(self, event: Event) -> bool:
        """Whether a call zeroes the gradients that the model's optimizer uses."""
        return event.kind == "call" and any(
            isinstance(callee, Opaque)
            and callee.name == "zero_grad"
            and len(callee.operands[0]) == 1
            and all(
                value is self.model.optimizers[0].value or origin(value) is self.model.value
                for value in callee.operands[0]
            )
            for callee in event.callee
        )

    def reads(self, event: Event, outside: bool = False) -> bool:
        """Whether a call may look at gradients of the model, or change them."""
        if event.kind != "call":
            return False
        for callee in event.callee:
            word = getattr(callee, "name", "").rpartition(".")[2]
            if word in GRADIENT_READERS and word != "grad":
                return True
            if outside:
                continue
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                owners = callee.operands[0]
                if callee.name in self.plan.table.parameter_methods:
                    return True
                if any(value is self.model.optimizers[0].value for value in owners):
                    return callee.name not in ("zero_grad", "state_dict")
                own = any(origin(v) is self.model.value or id(v) in self.parts for v in owners)
                if own and callee.name not in HARMLESS and callee.name != "zero_grad":
                    return True
        if outside:
            return False
        given = [value for item in event.arguments.items for value in item.values]
        held = (self.model.value, self.model.optimizers[0].value)
        return any(origin(value) in held for value in given)

    def learns_elsewhere(self, backward: Backward) -> bool:
        """Whether a loss depends on another model, too, that shares no part with this one."""
        others = [model for model in backward.models if model is not self.model and model.trained]
        own = layers(self.model)
        return any(
            used_by(self.plan, backward, training_forwards(self.plan, model)) for model in others
        ) and all(own.isdisjoint(layers(model)) for model in others)

    def lone_calls(self, backward: Backward) -> list[Event] | None:
        """The calls of the model for one backward pass, where no other uses their results."""
        calls = self.used[id(backward)]
        nodes = {id(call.node) for call in calls}
        for other in self.backwards:
            if other.event.node is not backward.event.node:
                if any(id(call.node) in nodes for call in self.used[id(other)]):
                    return None
        if not calls or any(not isinstance(call.node, cst.Call) for call in calls):
            return None
        made = {id(value) for call in calls for value in outputs(call)}
        functions = self.plan.table.gradient_functions
        for event in self.plan.facts.calls:
            if any(isinstance(c, External) and c.name in functions for c in event.callee):
                given = tuple(v for item in event.arguments.items for v in item.values)
                if any(id(value) in made for value in walk_back(given, is_computed)):
                    return None
        return calls

    def frozen_place(self, backward: Backward) -> Needless | None:
        """The call of the model that can be made with its parameters frozen."""
        calls = self.lone_calls(backward)
        if calls is None or len({id(call.node) for call in calls}) != 1:
            return None
        call = calls[0]
        statement = statement_of(call.module, call.node)
        assert isinstance(call.node, cst.Call)
        if not isinstance(statement, cst.SimpleStatementLine) or not is_path(call.node.func):
            return None
        model = model_called(call.node)
        if any(is_method(value) for value in self.plan.facts.values_of(model)):
            return None
        text = call.module.source.code(model)
        methods = self.plan.table.parameter_methods
        if any(
            isinstance(node, cst.Attribute) and node.attr.value in methods
            for node in descendants(statement)
        ):
            return None
        # Another call of the model within the statement would be frozen, too.
        for other in self.forwards:
            if other.node is not call.node and statement_of(other.module, other.node) is statement:
                return None
        return Needless(call.module, statement, statement, text, True)

    def gathered_place(
        self, backward: Backward, following: Backward, loop: Loop
    ) -> Needless | None:
        """The statements whose gradients a following backward pass averages with its own."""
        calls, later = self.lone_calls(backward), self.lone_calls(following)
        if calls is None or later is None or arms_in(backward.event, loop):
            return None
        if arms_in(following.event, loop) or max(c.order for c in calls) > backward.event.order:
            return None
        if not all(backward.event.order < call.order < following.event.order for call in later):
            return None
        module = backward.event.module
        statements = [statement_of(module, backward.event.node)]
        for call in calls:
            if call.module is not module or not isinstance(call.node, cst.Call):
                return None
            statements.append(statement_of(module, call.node))
        block = module.source.parent(statements[0]) if statements[0] is not None else None
        if block is None or any(
            not isinstance(each, cst.SimpleStatementLine) or module.source.parent(each) is not block
            for each in statements
        ):
            return None
        texts = {
            module.source.code(model_called(call.node))
            for call in calls
            if isinstance(call.node, cst.Call)
        }
        places = sorted(index_in(block, each) for each in statements if each is not None)
        between = block.body[places[0] : places[-1] + 1]  # type: ignore[attr-defined]
        text = texts.pop()
        root = text.split(".")[0]
        if (
            texts
            or root in assigned(module, between)
            or not all(isinstance(each, cst.SimpleStatementLine) for each in between)
        ):
            return None
        if block.body[places[-1]] is not statements[0]:  # type: ignore[attr-defined]
            return None
        # Calls of the model for other losses among them must average.
        own = {id(call.node) for call in calls}
        inner = {id(node) for statement in between for node in descendants(statement)}
        if any(id(f.node) in inner and id(f.node) not in own for f in self.forwards):
            return None
        return Needless(module, between[0], between[-1], text, False)


def model_called(call: cst.Call) -> cst.BaseExpression:
    """The expression of the model in a call of it, which may be one of its ``forward``."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in FORWARD:
        return function.value
    return function


def is_method(value: Value) -> bool:
    """Whether a value is a model's method, taken from it to be called later."""
    return isinstance(value, BoundMethod) or (
        isinstance(value, Opaque) and value.kind == "attribute" and value.name in FORWARD
    )


def within(event: Event, loop: Loop) -> int | None:
    """The position of a loop among the frames around an event; None where it is elsewhere."""
    for position, frame in enumerate(event.stack):
        if isinstance(frame, Loop) and frame.node is loop.node:
            return position
    return None


def arms_in(event: Event, loop: Loop) -> bool:
    """Whether an event in a loop does not happen once in every round."""
    position = within(event, loop)
    assert position is not None
    return any(isinstance(frame, (Branch, Loop)) for frame in event.stack[position + 1 :])


def is_straight(loop: Loop) -> bool:
    """Whether every round of a loop comes to its end, or ends the loop."""
    body = loop.node.body if isinstance(loop.node, (cst.For, cst.While)) else None
    return body is not None and not any(
        isinstance(node, (cst.Continue, cst.Try, cst.TryStar)) for node in descendants(body)
    )


def leaves_early(loop: Loop) -> bool:
    """Whether a loop may be left within a round."""
    return any(isinstance(node, (cst.Break, cst.Return)) for node in descendants(loop.node))


def layers(model: Model) -> set[int]:
    """The identities of the modules that a model is built of."""
    return {
        id(part)
        for part in walk_parts(model.value)
        if isinstance(part, Instance)
        or any(name.startswith("torch.nn.") for name in called_names(part))
    }


def is_computed(value: object) -> bool:
    """Whether a value is made of others by computing."""
    return not isinstance(value, Instance)
