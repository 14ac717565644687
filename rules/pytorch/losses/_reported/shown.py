"""What a script shows of its training, keeps of it or compares."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import External, Function, Instance, Opaque, Value, Values
from transpile.facts.walk import returned
from transpile.plan.effects.effect_names import (
    PROGRESS,
    SWITCHED_PREFIXES,
    SWITCHED_TRACKERS,
    TRACKERS,
)
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Effect, Vocabulary
from transpile.plan.effects.effects import Kind as EffectKind
from transpile.plan.flow.conditions import assigned
from transpile.plan.graph import called_names, is_instance_of, method_calls
from transpile.quantity.asking import Kind
from transpile.rules.pytorch.agreement._together import conditions_of

from .contents import DEEPEST, inside
from .inquiry import Inquiry
from .model import Part

#: Effects that show or keep what they are given.
SHOWING = frozenset(
    {
        EffectKind.PRINT, EffectKind.CONSOLE, EffectKind.LOG, EffectKind.HANDLE, EffectKind.WRITE,
        EffectKind.PLOT, EffectKind.TRACK, EffectKind.SWITCHED_TRACK,
    }
)  # fmt: skip
#: Those by which objects write or show themselves.
WRITING = frozenset({EffectKind.WRITE, EffectKind.PLOT})
#: Methods that show or keep numbers, whatever they belong to.
SHOWING_METHODS = frozenset(
    {
        "set_postfix", "set_postfix_str", "set_description", "set_description_str", "add_scalar",
        "add_scalars", "scalar_summary", "log_metric", "log_metrics", "log_value", "log_scalar",
        "report_scalar",
    }
)  # fmt: skip


class Shown:
    """Finds what a script shows, keeps or compares.

    Args:
        inquiry: what is known already.
        vocabulary: the framework's own effects.
    """

    def __init__(self, inquiry: Inquiry, vocabulary: Vocabulary) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        self.vocabulary = vocabulary
        self.held = {id(loader.value) for loader in self.plan.loaders}
        #: The conditions on which steps depend, which the processes agree on elsewhere.
        self.deciding = {id(one.test) for one in conditions_of(self.plan) if one.decides}
        self.held |= {id(optimizer.value) for optimizer in self.plan.optimizers}

    def parts(self) -> Iterator[Part]:
        """Everything that is shown, kept or compared."""
        effects: dict[int, Effect] = {
            id(effect.node): effect for effect in find_effects(self.plan, self.vocabulary)
        }
        showing = self.on_which_is_shown(effects)
        for event in self.plan.facts.events:
            if event.detached or self.inquiry.in_model(event.module, event.node):
                continue
            if event.kind == "test" and isinstance(event.node, cst.BaseExpression):
                decides = id(event.node) in self.deciding or id(event.node) not in showing
                yield from self.conditions(event.callee, event.node, event, decides)
            elif event.kind == "choose" and isinstance(event.node, cst.BaseExpression):
                if not any(id(value) in self.inquiry.trained for value in event.result):
                    yield from self.conditions(event.callee, event.node, event, decides=False)
            elif event.kind == "sort":
                # What is put in order is compared with each other.
                yield Part(event.result, None, event.module, event)
            elif event.kind == "call" and self.shows(event, effects.get(id(event.node))):
                for argument in event.arguments.items:
                    node = argument.node if isinstance(argument.node, cst.BaseExpression) else None
                    yield from self.split(argument.values, node, event.module, event)
                yield from self.split(event.arguments.rest, None, event.module, event)
                if (effect := effects.get(id(event.node))) and effect.kind in WRITING:
                    yield from self.written(event)
            elif event.kind == "call":
                yield from self.closures(event)
            elif event.kind == "store" and any(
                self.is_bar(value) or self.is_of_tracker(value) for value in event.callee
            ):
                # ``bar.suffix = f"loss {loss}"`` shows it with the next round.
                yield from self.split(event.result, assigned(event), event.module, event)

    def written(self, event: Event) -> Iterator[Part]:
        """What writes itself: the table of ``table.to_csv(path)``."""
        func = event.node.func if isinstance(event.node, cst.Call) else None
        node = func.value if isinstance(func, cst.Attribute) else None
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                yield from self.split(callee.operands[0], node, event.module, event)

    def on_which_is_shown(self, effects: dict[int, Effect]) -> set[int]:
        """The conditions on which something is shown at all, by identity."""
        return {
            id(frame.node.test)
            for event in self.plan.facts.calls
            if not event.detached
            for frame in event.stack
            if isinstance(frame, Branch) and isinstance(frame.node, cst.If)
            if self.shows(event, effects.get(id(event.node)))
        }

    def shows(self, event: Event, effect: Effect | None) -> bool:
        """Whether a call shows or keeps what it is given."""
        if effect is not None and effect.kind in SHOWING:
            return True
        for callee in event.callee:
            if isinstance(callee, External):
                package, _, word = callee.name.rpartition(".")
                if word in SHOWING_METHODS and package:
                    return True
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in SHOWING_METHODS:
                    return True
                if callee.name == "update" and any(self.is_bar(v) for v in callee.operands[0]):
                    return True
                if callee.name == "update" and any(is_meter(v) for v in callee.operands[0]):
                    return True
                if callee.name == "step" and any(self.schedules(v) for v in callee.operands[0]):
                    return True
        return False

    def schedules(self, value: Value) -> bool:
        """Whether a value is a scheduler of the learning rate."""
        return any("lr_scheduler." in name for name in called_names(value))

    def is_bar(self, value: Value) -> bool:
        """Whether a value is a progress bar."""
        if not isinstance(value, Opaque) or not isinstance(value.node, cst.Call):
            return False
        made_by = self.plan.facts.values_of(value.node.func)
        return any(isinstance(one, External) and one.name in PROGRESS for one in made_by)

    def is_of_tracker(self, value: Value) -> bool:
        """Whether a value is a part of a tracker, such as the summary of its run."""
        while isinstance(value, Opaque) and value.kind in ("attribute", "item"):
            if not value.operands[0]:
                return False
            value = value.operands[0][0]
        if isinstance(value, External):
            return value.name.startswith(SWITCHED_PREFIXES)
        return isinstance(value, Opaque) and any(
            name in SWITCHED_TRACKERS or name in TRACKERS for name in called_names(value)
        )

    def closures(self, event: Event) -> Iterator[Part]:
        """The loss that a closure gives to an optimizer which compares losses."""
        for callee in event.callee:
            if not (isinstance(callee, Opaque) and callee.name == "step"):
                continue
            if not any(
                name.endswith(".LBFGS") for v in callee.operands[0] for name in called_names(v)
            ):
                continue
            for argument in event.arguments.items:
                for function in argument.values:
                    if isinstance(function, Function) and isinstance(
                        function.node, cst.FunctionDef
                    ):
                        for node in returned(function.node):
                            values = self.plan.facts.values_of(node)
                            yield Part(values, node, function.module, event, decides=True)

    def conditions(
        self, values: Values, node: cst.BaseExpression, event: Event, decides: bool = True
    ) -> Iterator[Part]:
        """The parts of a condition that are compared."""
        parts: list[cst.BaseExpression] = []
        if asks_for_identity(node):
            return
        if isinstance(node, cst.Comparison):
            parts = [node.left, *(target.comparator for target in node.comparisons)]
        elif isinstance(node, cst.BooleanOperation):
            parts = [node.left, node.right]
        elif isinstance(node, cst.UnaryOperation):
            parts = [node.expression]
        if not parts:
            if not any(checks_for_nan(value) for value in values):
                yield Part(values, node, event.module, event, decides)
            return
        operands: tuple[Values, ...] = ()
        if len(values) == 1 and isinstance(values[0], Opaque) and values[0].node is node:
            operands = values[0].operands
        compared = [
            (operands[position] if position < len(operands) else ())
            or self.plan.facts.values_of(part)
            for position, part in enumerate(parts)
        ]
        if any(isinstance(one, Instance) for group in compared for one in group):
            # Objects say themselves how they compare.
            yield Part(values, node, event.module, event, decides)
            return
        if isinstance(node, cst.Comparison):
            if self.grow_alike(compared) or all(are_sizes(values) for values in compared):
                return
            if self.inquiry.analysis.fit(compared):
                return
        for inner, part in zip(compared, parts, strict=True):
            yield from self.conditions(inner, part, event, decides)

    def grow_alike(self, compared: list[Values]) -> bool:
        """Whether sizes are compared that grow alike with the batch: the outcome is the same."""
        quantities = [self.inquiry.analysis.of(values) for values in compared]
        return len({one.degree for one in quantities}) == 1 and all(
            one.kind is Kind.EQUAL and one.degree and not one.pending for one in quantities
        )

    def is_whole(self, value: Instance) -> bool:
        """Whether an object is not analysed: a model, an optimizer, a loader."""
        return id(value) in self.held or is_instance_of(value, self.plan.table.module_bases)

    def split(
        self,
        values: Values,
        node: cst.BaseExpression | None,
        module: Module,
        event: Event,
        depth: int = 0,
    ) -> Iterator[Part]:
        """The numbers and tensors inside texts, containers and objects."""
        plain: list[Value] = []
        for value in values:
            parts = inside(value, module, self.is_whole) if depth < DEEPEST else None
            if parts is None or id(value) in self.inquiry.analysis.stored:
                # What is put into a table later is no argument that it is made of.
                plain.append(value)
            for part, expression, where in parts or ():
                yield from self.split(part, expression, where, event, depth + 1)
        if plain:
            yield Part(tuple(plain), node, self.home(node, module), event)

    def home(self, node: cst.BaseExpression | None, default: Module) -> Module:
        """The module that an expression stands in: what a list or dict holds may come from any."""
        if node is None or default.source.has(node):
            return default
        return next(
            (module for module in self.plan.facts.modules.values() if module.source.has(node)),
            default,
        )


def asks_for_identity(node: cst.BaseExpression) -> bool:
    """Whether a condition asks for an object, and not for a number: ``best is None``."""
    return isinstance(node, cst.Comparison) and all(
        isinstance(each.operator, (cst.Is, cst.IsNot)) for each in node.comparisons
    )


def is_meter(value: Value) -> bool:
    """Whether a value is a running average of a class that cannot be analysed."""
    return isinstance(value, Opaque) and any(
        name.endswith("AverageMeter") for name in called_names(value)
    )


def checks_for_nan(value: Value) -> bool:
    """Whether a value tells that something is not a number; processes agree on that elsewhere."""
    names = [*called_names(value), *(name for name, _ in method_calls(value))]
    return any(name.rpartition(".")[2] in ("isnan", "isinf", "isfinite") for name in names)


def are_sizes(values: Values) -> bool:
    """Whether values are sizes of tensors, which fit each other or not within one process."""
    return bool(values) and all(
        isinstance(value, Opaque)
        and (
            any(name == "size" for name, _ in method_calls(value))
            or (
                value.kind == "item"
                and any(
                    isinstance(base, Opaque)
                    and (
                        base.name == "shape"
                        or any(name == "size" for name, _ in method_calls(base))
                    )
                    for base in value.operands[0]
                )
            )
        )
        for value in values
    )
