"""Comprehensions, and short loops that are followed element by element."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transpile.facts.events import Branch, Loop
from transpile.facts.inherited import Inherited
from transpile.facts.picking import picked_from
from transpile.facts.values import Constant, Scope, Sequence, Values, join

#: Loops over literal sequences of up to so many elements are followed element by element.
MOST_UNROLLED = 4


class Comprehensions(Inherited):
    """The part of the interpreter that knows comprehensions."""

    def comprehension(self, node: Any) -> Values:
        """A list, set, dict or generator comprehension."""
        scope = Scope({}, self.activation.scope, self.module, is_comprehension=True)
        before_scope, before_stack = self.activation.scope, self.stack
        self.activation.scope = scope
        if node.for_in.inner_for_in is None:
            iterated = self.evaluate(node.for_in.iter)
            few = self.few_elements(iterated)
            if few is not None:
                try:
                    return self.unrolled_comprehension(node, iterated, few)
                finally:
                    self.activation.scope, self.stack = before_scope, before_stack
        try:
            part: cst.CompFor | None = node.for_in
            while part is not None:
                iterated = self.evaluate(part.iter)
                self.record("iterate", part, iterated)
                self.stack = self.pushed(Loop(node, self.module))
                self.bind_target(part.target, self.elements(iterated, part))
                self.note_picked(part.target, picked_from(iterated), iterated)
                for condition in part.ifs:
                    self.evaluate(condition.test)
                    self.stack = self.pushed(Branch(condition, "then"))
                part = part.inner_for_in
            if isinstance(node, cst.DictComp):
                keys, values = self.evaluate(node.key), self.evaluate(node.value)
                made = self.new_mapping(node)
                self.store_item(made, keys, values, node.value)
                made.open_because = made.open_because or "it is built by a comprehension"
                return (made,)
            values = self.evaluate(node.elt)
            picked = self.picked_in(node.elt, frozenset(scope.names))
        finally:
            self.activation.scope, self.stack = before_scope, before_stack
        key = ("sequence", id(node), self.context)
        found = self.nodes.get(key)
        if not isinstance(found, Sequence):
            found = Sequence(
                "generator" if isinstance(node, cst.GeneratorExp) else "list", node, []
            )
            self.nodes[key] = found
        found.rest = join(found.rest, values)
        self.pick_into(found, picked)
        return (found,)

    def few_elements(self, iterated: Values) -> list[Values] | None:
        """The elements of a short literal sequence that tells its elements apart by constants.

        ``for phase in ("train", "eval")``: what happens depends on the phase, so each element is
        followed on its own.
        """
        known = self.known_elements(iterated)
        if known is None or not 0 < len(known) <= MOST_UNROLLED:
            return None
        for values in known:
            value = values[0] if len(values) == 1 else None
            if isinstance(value, Sequence) and value.kind == "tuple":
                continue
            if not (isinstance(value, Constant) and isinstance(value.value, (str, bool))):
                return None
        return known

    def unrolled_comprehension(self, node: Any, iterated: Values, few: list[Values]) -> Values:
        """A comprehension over a short literal sequence, element by element."""
        self.record("iterate", node.for_in, iterated)
        made_mapping = self.new_mapping(node) if isinstance(node, cst.DictComp) else None
        context, stack = self.context, self.stack
        elements: list[Values] = []
        try:
            for position, values in enumerate(few):
                self.context = (*context, id(node), position)
                self.stack = (*stack, Loop(node, self.module))
                self.bind_target(node.for_in.target, values)
                for condition in node.for_in.ifs:
                    self.evaluate(condition.test)
                if made_mapping is not None:
                    self.store_item(
                        made_mapping, self.evaluate(node.key), self.evaluate(node.value), node.value
                    )
                else:
                    elements.append(self.evaluate(node.elt))
        finally:
            self.context, self.stack = context, stack
        if made_mapping is not None:
            return (made_mapping,)
        key = ("sequence", id(node), self.context)
        found = self.nodes.get(key)
        if not isinstance(found, Sequence):
            found = Sequence("list", node, elements)
            self.nodes[key] = found
        found.elements = elements
        return (found,)
