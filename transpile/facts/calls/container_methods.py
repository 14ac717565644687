"""What the methods of lists and dicts of the script do."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.builtins import BuiltinCalls
from transpile.facts.expressions.held_parts import PUTTING
from transpile.facts.picking import picked_from
from transpile.facts.state import external, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    Constant,
    Generator,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
    only_constant,
)


class ContainerMethods(BuiltinCalls):
    """The part of the interpreter that knows the methods of containers."""

    def attribute_of(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """Methods of lists and dicts of the script become callables that are modelled here."""
        if isinstance(value, (Sequence, Mapping)):
            key = ("container-method", id(value), name)
            made = self.nodes.get(key)
            if not isinstance(made, Opaque):
                made = Opaque("attribute", node, self.module, name, operands=((value,),))
                self.nodes[key] = made
            return (made,)
        if isinstance(value, Generator):
            return unknown("an attribute of a generator")
        return super().attribute_of(value, name, node)

    def call_container_method(
        self, callee: Opaque, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """``list.append`` and friends; None where the receiver is no known container."""
        if callee.kind != "attribute" or len(callee.operands) != 1:
            return None
        receivers = callee.operands[0]
        if len(receivers) != 1:
            return None
        receiver = receivers[0]
        into_model = callee.name in self.dialect.keeps_parts and self.is_part(receiver)
        if into_model or (callee.name in PUTTING and self.holds_parts(receiver)):
            self.put_parts(receiver, join(*(item.values for item in arguments.items)))
            return None
        if isinstance(receiver, Mapping):
            return self.mapping_method(receiver, callee.name, arguments, node)
        if isinstance(receiver, Sequence):
            return self.sequence_method(receiver, callee.name, arguments, node)
        if callee.name in ("next", "__next__") and is_iterator(receiver):
            return self.builtin_next(Arguments((Argument((receiver,), None),)), node)
        return None

    def mapping_method(
        self, mapping: Mapping, name: str, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """The methods of a dict."""
        ordered = arguments.positional()
        if name == "__init__" and ordered and ordered[0].values == external("builtins.list"):
            mapping.makes_lists = True
            return (Constant(None),)
        if name == "__setitem__" and len(ordered) == 2:
            self.store_item(mapping, ordered[0].values, ordered[1].values, ordered[1].node)
            return (Constant(None),)
        if name in ("get", "__getitem__") and ordered:
            self.note_pick((mapping,), ordered[0].values, node)
        if name == "__getitem__" and ordered:
            return self.item((mapping,), ordered[0].values, node)
        if name in ("update", "__init__"):
            for argument in arguments.items:
                if argument.keyword is None:
                    self.update_mapping(mapping, argument.values)
                else:
                    self.store_item(
                        mapping, (Constant(argument.keyword),), argument.values, argument.node
                    )
            return (Constant(None),)
        if name in ("get", "pop", "setdefault") and ordered:
            constant = only_constant(ordered[0].values)
            default: Values = ordered[1].values if len(ordered) > 1 else (Constant(None),)
            if constant is not None and constant.value in mapping.entries:
                entry = mapping.entries[constant.value]
                found = join(entry.values, default) if entry.maybe else entry.values
                if name == "pop":
                    del mapping.entries[constant.value]
                    self.heap_version += 1
                return found
            if name == "setdefault":
                self.store_item(mapping, ordered[0].values, default, ordered[-1].node)
                return default
            if constant is not None and not mapping.open_because and not mapping.rest:
                return default
            return join(mapping.every(), default)
        if name == "items":
            pairs: list[Values] = []
            for key, entry in mapping.entries.items():
                pair_key = ("pair", id(mapping), key)
                pair = self.nodes.get(pair_key)
                if not isinstance(pair, Sequence):
                    pair = Sequence("tuple", node, [(Constant(key),), entry.values])
                    self.nodes[pair_key] = pair
                pair.elements[1] = entry.values
                pairs.append((pair,))
            return (self.builtin_sequence(node, "list", pairs, self.other_pairs(mapping, node)),)
        if name == "values":
            return (
                self.builtin_sequence(
                    node, "list", [entry.values for entry in mapping.entries.values()], mapping.rest
                ),
            )
        if name == "keys":
            known: list[Values] = [(Constant(k),) for k in mapping.entries]
            return (self.builtin_sequence(node, "list", known, mapping.computed),)
        if name == "copy":
            made = self.new_mapping(node)
            self.update_mapping(made, (mapping,))
            return (made,)
        return None

    def other_pairs(self, mapping: Mapping, node: cst.CSTNode) -> Values:
        """The pairs of keys that are not known and what is kept under them."""
        if not mapping.rest:
            return unknown("an entry of a dict") if mapping.open_because else ()
        key = ("pairs", id(mapping))
        pair = self.nodes.get(key)
        if not isinstance(pair, Sequence):
            pair = Sequence("tuple", node, [unknown("a key of a dict"), mapping.rest])
            self.nodes[key] = pair
        pair.elements[0] = join(unknown("a key of a dict"), mapping.computed)
        pair.elements[1] = mapping.rest
        return (pair,)

    def sequence_method(
        self, sequence: Sequence, name: str, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """The methods of a list."""
        ordered = arguments.positional()
        if name in ("append", "add", "insert", "appendleft") and ordered:
            added = ordered[-1].values
            new = join(sequence.rest, added)
            if new != sequence.rest:
                sequence.rest = new
                self.heap_version += 1
            if isinstance(node, cst.Call) and node.args:
                self.pick_into(sequence, self.picked_in(node.args[-1].value))
            return (Constant(None),)
        if name == "__setitem__" and len(ordered) == 2:
            self.store_element(sequence, ordered[0].values, ordered[1].values)
            return (Constant(None),)
        if name == "__getitem__" and ordered:
            self.note_pick((sequence,), ordered[0].values, node)
            return self.item((sequence,), ordered[0].values, node)
        if name in ("extend", "extendleft", "__init__") and ordered:
            self.pick_into(sequence, picked_from(ordered[0].values))
            new = join(sequence.rest, self.elements(ordered[0].values, node))
            if new != sequence.rest:
                sequence.rest = new
                self.heap_version += 1
            return (Constant(None),)
        if name == "sort":
            self.compare((sequence,), arguments, node)
            return (Constant(None),)
        if name == "pop":
            return sequence.every() or unknown("an element of a list")
        return None


def is_iterator(value: Value) -> bool:
    """Whether a value is what ``iter`` made of something."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name == "iterate"
