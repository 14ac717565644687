"""Which values say which process this is."""

from __future__ import annotations

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.vocabulary import SHARED, Vocabulary
from transpile.facts.events import Branch, Event
from transpile.facts.values import (
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, walk_back

#: Conversions and operators through which a value still says which process this is.
TELLING = frozenset({"builtins.int", "builtins.bool", "builtins.str", "builtins.float"})


class Ranks:
    """Answers whether values tell processes apart.

    Args:
        vocabulary: what tells them apart.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.calls = {name for name, word in vocabulary.calls.items() if word not in SHARED}
        self.variables = {name for name, word in vocabulary.variables.items() if word not in SHARED}

    def tells(self, value: Value) -> bool:
        """Whether a value itself says which process this is."""
        if not isinstance(value, Opaque):
            return False
        names = called_names(value)
        if any(name in self.calls for name in names):
            return True
        if value.kind == "attribute":
            if value.name in self.vocabulary.launch_arguments and is_given(value):
                return True
            return any(
                self.vocabulary.attributes.get((name, value.name), "world_size") not in SHARED
                for base in value.operands[0]
                for name in called_names(base)
            )
        if value.kind == "item":
            environment = any(v == External("os.environ") for v in value.operands[0])
            return environment and self.names_variable(value.index)
        if any(name in ("os.environ.get", "os.getenv") for name in names):
            return self.names_variable(value.arguments.items[0].values)
        return False

    def names_variable(self, values: Values) -> bool:
        """Whether some value is the name of a variable that tells."""
        return any(isinstance(v, Constant) and v.value in self.variables for v in values)

    def decide(self, values: Values) -> bool:
        """Whether values are such a number, or computed from one by operators alone."""

        def enters(value: Value) -> bool:
            if not isinstance(value, Opaque):
                return False
            if value.kind == "operation":
                return value.name not in ("iterate", "enumerate", "zip", "len")
            return any(name in TELLING for name in called_names(value))

        return any(self.tells(value) for value in walk_back(values, enters))

    def show(self, values: Values) -> bool:
        """Whether values, as they are shown, say which process this is."""

        def enters(value: Value) -> bool:
            if not isinstance(value, Opaque):
                return isinstance(value, (Sequence, Mapping))
            if value.kind == "operation":
                return value.name not in ("iterate", "enumerate", "zip", "len")
            if any(getattr(callee, "name", "") in ("format", "join") for callee in value.callee):
                return True
            return any(name in TELLING for name in called_names(value))

        return any(self.tells(value) for value in walk_back(values, enters))

    def depend(self, values: Values) -> bool:
        """Whether anything that values were computed from tells."""
        return any(self.tells(value) for value in walk_back(values))

    def open_test(self, audit: Audit, event: Event) -> cst.CSTNode | None:
        """A condition around an event of one process that tells processes apart, nobody knows how.

        None where there is none, or where it is known for some process.
        """
        for frame in reversed(event.stack):
            if isinstance(frame, Branch):
                test = condition(frame.node)
                if test is None or any(answer is not None for answer in audit.answers(test)):
                    continue
                if self.decide(audit.facts.values_of(test)):
                    return test
        return None


def condition(node: cst.CSTNode) -> cst.CSTNode | None:
    """The condition of a branch."""
    if isinstance(node, (cst.If, cst.IfExp)):
        return node.test
    return node.left if isinstance(node, cst.BooleanOperation) else None


def is_given(value: Opaque) -> bool:
    """Whether an attribute is one of what a parser made of the command line."""
    return any(
        isinstance(callee, Opaque) and callee.name in ("parse_args", "parse_known_args")
        for base in walk_back(
            value.operands[0], lambda v: isinstance(v, Opaque) and v.kind == "item"
        )
        if isinstance(base, Opaque)
        for callee in base.callee
    )
