"""What a loop does beside adding up."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Partial,
    Sequence,
    Super,
    Unknown,
    Value,
    Values,
)
from transpile.facts.walk import children, descendants
from transpile.plan.effects.effect_search import classify
from transpile.plan.effects.effects import Kind
from transpile.plan.graph import called_names, is_instance_of, method_calls, origin
from transpile.plan.model import Plan
from transpile.plan.roles.surroundings import inside_module

from .model import Obstacle
from .words import COMPUTING, EFFECTS, EvaluationWords

#: Builtins that do more than to compute.
NOT_COMPUTING = frozenset(
    {
        "builtins.open", "builtins.input", "builtins.exec", "builtins.eval", "builtins.setattr",
        "builtins.delattr", "builtins.compile", "builtins.__import__", "builtins.exit",
        "builtins.quit",
    }
)  # fmt: skip
#: What draws random numbers: calls out of the project and methods.
DRAWS = ("numpy.random.", "random.")
SAMPLING = frozenset({"sample", "rsample", "multinomial", "bernoulli", "sample_n"})
#: Methods that look at something without changing it.
LOOKING = frozenset(
    {
        "to", "cuda", "cpu", "size", "dim", "numel", "nelement", "view", "reshape", "item",
        "detach", "clone", "float", "double", "half", "long", "int", "bool", "type", "expand",
        "type_as", "repeat", "unsqueeze", "squeeze", "permute", "transpose", "t", "contiguous",
        "mean", "sum", "max", "min", "argmax", "argmin", "eq", "ne", "gt", "lt", "ge", "le",
        "numpy", "tolist", "keys", "values", "items", "get", "format", "join", "split", "strip",
        "lower", "upper", "startswith", "endswith", "index", "count", "parameters",
        "named_parameters", "buffers", "state_dict", "modules", "children", "named_modules",
        "eval", "abs", "sqrt", "exp", "pow", "mul", "div", "sub", "norm", "mm",
        "bmm", "matmul", "flatten", "copy", "astype", "gather", "scatter", "masked_fill",
        "softmax", "log_softmax", "sigmoid", "requires_grad_", "element_size", "is_floating_point",
        "ndimension", "isdigit", "rstrip", "lstrip", "encode", "decode", "new_zeros", "new_ones",
        "new_tensor", "new_full", "std", "index_select", "select", "narrow", "chunk", "topk",
        "clamp", "all", "any", "expand_as", "view_as", "dot", "ravel", "round",

    }
)  # fmt: skip
#: Methods of a model that only look at it, or say again what mode it is in.
OF_MODELS = frozenset(
    {
        "eval", "to", "cuda", "cpu", "parameters", "named_parameters", "buffers", "named_buffers",
        "state_dict", "modules", "named_modules", "children", "named_children",
        "flatten_parameters",
    }
)  # fmt: skip
#: Methods and functions that hand on what something holds.
PARTS = frozenset({"get", "pop", "values", "keys", "items", "setdefault", "modules", "children"})
PASSING = frozenset(
    {
        "builtins.zip", "builtins.enumerate", "builtins.list", "builtins.tuple", "builtins.sorted",
        "builtins.reversed", "builtins.iter", "builtins.next", "builtins.filter", "builtins.map",
        "builtins.getattr", "builtins.max", "builtins.min", "builtins.dict", "builtins.set",
        "builtins.vars",
    }
)  # fmt: skip


class Effects:
    """Checks that a loop does nothing but compute and add up.

    Args:
        plan: the plan.
        module: where the loop stands.
        loop: the loop.
        adding: the nodes inside which it adds up.
        words: what the framework's functions mean.
    """

    def __init__(
        self,
        plan: Plan,
        module: Module,
        loop: cst.For,
        adding: frozenset[int],
        words: EvaluationWords,
    ) -> None:
        self.plan = plan
        self.words = words
        self.module = module
        self.loop = loop
        self.adding = adding
        self.events = [event for event in plan.facts.events if self.is_inside(event)]
        self.inside = {id(node) for node in descendants(loop.body)}
        self.inside.add(id(loop))
        for function in self.functions():
            self.inside.update(id(node) for node in descendants(function))
        self.models = {id(model.value) for model in plan.models}

    def is_inside(self, event: Event) -> bool:
        """Whether something happens in the loop."""
        return any(isinstance(frame, Loop) and frame.node is self.loop for frame in event.stack)

    def functions(self) -> list[cst.CSTNode]:
        """The functions that are entered in the loop."""
        found: dict[int, cst.CSTNode] = {}
        for event in self.events:
            within = False
            for frame in event.stack:
                within = within or (isinstance(frame, Loop) and frame.node is self.loop)
                if within and isinstance(frame, Call):
                    found[id(frame.function.node)] = frame.function.node
        return list(found.values())

    def check(self) -> None:
        """Look at everything that happens.

        Raises:
            Obstacle: something is no computation.
        """
        self.check_statements()
        for event in self.events:
            if self.adds(event):
                continue
            if event.kind == "call":
                self.call(event)
            elif event.kind == "store" and not all(map(self.is_fresh, event.callee)):
                raise Obstacle(self.seen(event), self.stored(event))
            elif event.kind == "operate" and isinstance(event.node, cst.AugAssign):
                self.operate(event)

    def check_statements(self) -> None:
        """Look for what leaves the loop, or is not followed.

        Raises:
            Obstacle: there is something.
        """
        stack: list[tuple[cst.CSTNode, bool]] = [(self.loop.body, False)]
        while stack:
            node, nested = stack.pop()
            if isinstance(node, cst.Break) and not nested:
                raise Obstacle(node, "the loop is left early")
            if isinstance(node, cst.Return | cst.Raise):
                raise Obstacle(node, "the loop is left early")
            if isinstance(node, cst.Yield | cst.Await):
                raise Obstacle(node, "the batches are handed on")
            if isinstance(node, cst.Try):
                raise Obstacle(node, "it catches exceptions, so that batches may be left out")
            if isinstance(node, cst.Global | cst.Nonlocal | cst.Match):
                raise Obstacle(node, "it is not followed here what becomes of the batches")
            if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
                continue
            inner = nested or isinstance(node, cst.For | cst.While)
            stack.extend((child, inner) for child in children(node))
        for function in self.functions():
            for node in descendants(function):
                if isinstance(node, cst.Global | cst.Nonlocal):
                    raise Obstacle(self.loop, "a function that it calls changes global variables")

    def seen(self, event: Event) -> cst.CSTNode:
        """The place in the loop at which something happens."""
        within = False
        for frame in event.stack:
            if within and isinstance(frame, Call) and frame.node is not None:
                return frame.node if self.module.source.has(frame.node) else self.loop
            within = within or (isinstance(frame, Loop) and frame.node is self.loop)
        return event.node

    def adds(self, event: Event) -> bool:
        """Whether something happens as a part of adding up."""
        if id(event.node) in self.adding:
            return True
        if event.kind in ("store", "operate"):
            parent = event.node
            inner = parent.target if isinstance(parent, cst.AugAssign) else parent
            if isinstance(inner, cst.Subscript) and id(inner.value) in self.adding:
                return True
            if id(inner) in self.adding:
                return True
        return any(
            isinstance(frame, Call) and frame.node is not None and id(frame.node) in self.adding
            for frame in event.stack
        )

    def operate(self, event: Event) -> None:
        """Look at ``x += y``, which changes what tensors and lists hold.

        Raises:
            Obstacle: it changes something that was there before.
        """
        assert isinstance(event.node, cst.AugAssign)
        if isinstance(event.node.target, cst.Name):
            changed = [
                value
                for value in event.callee
                if isinstance(value, Sequence | Mapping | Instance) and not self.is_fresh(value)
            ]
            if changed:
                raise Obstacle(self.seen(event), self.stored(event))

    def stored(self, event: Event) -> str:
        """The reason where something is kept."""
        if inside_module(event.stack, self.plan.table):
            return "the model keeps something from one batch to the next"
        return "it keeps something else of each batch"

    # Calls.

    def call(self, event: Event) -> None:
        """Look at one call.

        Raises:
            Obstacle: it may do more than to compute.
        """
        kind = classify(event, self.words.vocabulary)
        if kind is not None and kind[0] is not Kind.PROGRESS:
            raise Obstacle(self.seen(event), f"it {kind[0].value} within the loop")
        for callee in event.callee:
            why = self.harm(callee, event)
            if why:
                raise Obstacle(self.seen(event), why)

    def harm(self, callee: Value, event: Event) -> str:
        """What a call may do beside computing; empty for nothing."""
        if isinstance(callee, External):
            return self.external(callee.name, event)
        if isinstance(callee, Function | BoundMethod | Class | Super):
            # Their code is looked at itself.
            return ""
        if isinstance(callee, Instance):
            return ""
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return self.method(callee, event)
        if isinstance(callee, Opaque):
            names = makers(callee)
            if names and all(name.startswith(self.words.layers) for name in names):
                return ""
            if id(origin(callee)) in self.models:
                return ""
            if names and inside_module(event.stack, self.plan.table):
                # A part of the model, which is in the model's mode.
                if all(name.startswith(self.words.models) for name in names):
                    return ""
            if names and all(name.startswith(self.words.transforms) for name in names):
                return self.transforms(names)
            return "it calls something that cannot be analysed"
        if isinstance(callee, Partial):
            inner = [self.harm(one, event) for one in callee.callee]
            return next(filter(None, inner), "")
        return "it calls something that cannot be analysed"

    def transforms(self, names: tuple[str, ...]) -> str:
        """What is wrong with transforms that draw random numbers."""
        if any(name.rpartition(".")[2].startswith(("Random", "Color")) for name in names):
            return "it draws random numbers"
        return ""

    def external(self, name: str, event: Event) -> str:
        """What a function out of the project may do."""
        if name in self.plan.table.draws or name in self.words.drawing or name.startswith(DRAWS):
            return "" if self.only_in_training(event) else "it draws random numbers"
        if name.startswith(self.words.dropouts):
            return self.dropout(event)
        if name.startswith("builtins.") and name not in NOT_COMPUTING:
            return ""
        if name.startswith((*EFFECTS, *self.words.effects)):
            return f"it calls {name}"
        if name.startswith((*COMPUTING, *self.words.computing)):
            return ""
        return f"it calls {name}, of which it is not known what it does"

    def dropout(self, event: Event) -> str:
        """What is wrong where dropout is not switched by the model's mode."""
        training = event.arguments.get("training", 2)
        if training is None or any(value == Constant(True) for value in training.values):
            return "" if self.only_in_training(event) else "it draws random numbers"
        return ""

    def only_in_training(self, event: Event) -> bool:
        """Whether something happens only while a model is being trained."""
        for frame in event.stack:
            if isinstance(frame, Branch) and frame.arm == "then" and isinstance(frame.node, cst.If):
                test = frame.node.test
                if isinstance(test, cst.Attribute) and test.attr.value == "training":
                    return True
        return False

    def method(self, callee: Opaque, event: Event) -> str:
        """What a method of something that cannot be analysed may do."""
        word = callee.name
        if word in self.plan.table.filling_methods or word in SAMPLING:
            return "" if self.only_in_training(event) else "it draws random numbers"
        receivers = callee.operands[0] if callee.operands else ()
        if word == "train":
            return "it changes the mode of a model"
        if any(self.is_module(value) for value in receivers):
            return "" if word in OF_MODELS else f"it calls the model's '{word}'"
        if word in LOOKING or word in self.words.looking or all(map(self.is_fresh, receivers)):
            return ""
        return f"'{word}' may change something that was there before the loop"

    def is_module(self, value: Value) -> bool:
        """Whether a value is a model or a layer."""
        behind = origin(value)
        return id(behind) in self.models or is_instance_of(behind, self.plan.table.module_bases)

    # What was made in the same round.

    def is_fresh(self, value: Value, depth: int = 0) -> bool:
        """Whether a value was made in the loop, so that what changes it ends with the round."""
        if depth > 30:
            return False
        if isinstance(value, Constant):
            return True
        if isinstance(value, Unknown | External | Class | ModuleValue | Function | Super):
            return False
        if isinstance(value, BoundMethod):
            return self.is_fresh(value.receiver, depth + 1)
        if isinstance(value, Sequence | Mapping | Instance | Generator | Partial):
            return id(value.node) in self.inside
        if value.kind == "element":
            return value.node is self.loop or self.all_fresh(value.operands[0], depth)
        if value.kind in ("attribute", "item"):
            return self.all_fresh(value.operands[0], depth)
        if value.kind == "parameter" or id(value.node) not in self.inside:
            return False
        if value.kind == "operation":
            if value.name in ("iterate", "zip", "enumerate", "filter"):
                return all(self.all_fresh(group, depth) for group in value.operands)
            return True
        if value.inner:
            return self.all_fresh(value.inner, depth)
        if any(name in PASSING for name in called_names(value)):
            return all(self.all_fresh(argument.values, depth) for argument in value.arguments.items)
        for word, receivers in method_calls(value):
            if word in PARTS and not self.all_fresh(receivers, depth):
                return False
        return True

    def all_fresh(self, values: Values, depth: int) -> bool:
        """The same for all alternatives."""
        return bool(values) and all(self.is_fresh(value, depth + 1) for value in values)


def makers(callee: Opaque) -> tuple[str, ...]:
    """The names of what made something, or the container that it is an element of."""
    value: Value = callee
    while isinstance(value, Opaque) and value.kind in ("element", "item"):
        held = value.operands[0]
        if len(held) != 1:
            return ()
        value = held[0]
    return called_names(value)
