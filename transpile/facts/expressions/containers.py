"""Lists, tuples, sets and dicts."""

from __future__ import annotations

import libcst as cst

from transpile.facts.picking import Picking, picked_from
from transpile.facts.values import (
    Arguments,
    Constant,
    Entry,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
    only_constant,
)


class Containers(Picking):
    """The part of the interpreter that knows containers."""

    def new_mapping(self, node: cst.CSTNode) -> Mapping:
        """The mapping made at this place."""
        key = ("mapping", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Mapping):
            made = Mapping(node, self.module, self.branches())
            self.nodes[key] = made
        return made

    def make_missing(self, mapping: Mapping, keys: Values, node: cst.CSTNode) -> None:
        """Put something where a key is looked up, as ``defaultdict`` does."""
        constant = only_constant(keys)
        if constant is not None and constant.value in mapping.entries:
            return
        if mapping.factory:
            self.store_item(mapping, keys, self.made_item(mapping, constant, node), node)
            return
        key = ("made list", id(mapping), constant)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence("list", node, [])
            self.nodes[key] = made
        self.store_item(mapping, keys, (made,), node)

    def made_item(self, mapping: Mapping, key: Constant | None, node: cst.CSTNode) -> Values:
        """What the factory of a dict gives for a key, or for all that are not known."""
        name = ("made item", id(mapping), key)
        found = self.made_items.get(name)
        if found is None:
            self.made_items[name] = ()
            found = self.made_items[name] = self.invoke(mapping.factory, Arguments(), node)
        return found

    def store_item(
        self, mapping: Mapping, keys: Values, values: Values, node: cst.CSTNode | None
    ) -> None:
        """``mapping[key] = value``: certain, or only on some branch."""
        constant = only_constant(keys)
        if constant is None:
            if mapping.open_because is None:
                mapping.open_because = "a key that is computed is set"
                self.heap_version += 1
            self.compute_keys(mapping, keys)
            mapping.rest = join(mapping.rest, values)
            return
        branches = self.branches()
        definite = branches == mapping.branches[: len(branches)]
        old = mapping.entries.get(constant.value)
        if definite or old is None:
            made = Entry(values, node, self.module, maybe=not definite)
        else:
            made = Entry(join(old.values, values), old.node, old.module, old.maybe)
        if old is None or old.values != made.values or old.maybe != made.maybe:
            self.heap_version += 1
        mapping.entries[constant.value] = made
        self.set_on_owner(mapping, constant.value, values)

    def set_on_owner(self, mapping: Mapping, key: object, values: Values) -> None:
        """Set the attribute of an object where a dict is that of its attributes."""
        if isinstance(mapping.owner, Instance) and isinstance(key, str):
            self.set_attribute(mapping.owner.attributes, key, values, definite=False)

    def store_element(self, sequence: Sequence, keys: Values, values: Values) -> None:
        """``sequence[position] = value``: what was there may be there still."""
        constant = only_constant(keys)
        position = constant.value if constant is not None else None
        if isinstance(position, int) and -len(sequence.elements) <= position < len(
            sequence.elements
        ):
            positions: list[int] = [position]
        else:
            positions = list(range(len(sequence.elements)))
            sequence.rest = join(sequence.rest, values)
        for each in positions:
            joined = join(sequence.elements[each], values)
            if joined != sequence.elements[each]:
                sequence.elements[each] = joined
                self.heap_version += 1

    def update_mapping(self, mapping: Mapping, values: Values) -> None:
        """``mapping.update(values)`` or ``**values`` in a display."""
        for value in values:
            if isinstance(value, Mapping):
                for key, entry in list(value.entries.items()):
                    branches = self.branches()
                    definite = (
                        branches == mapping.branches[: len(branches)]
                        and not entry.maybe
                        and len(values) == 1
                    )
                    old = mapping.entries.get(key)
                    joined = (
                        entry.values if old is None or definite else join(old.values, entry.values)
                    )
                    maybe = not definite and (old is None or old.maybe)
                    if old is None or old.values != joined or old.maybe != maybe:
                        self.heap_version += 1
                    mapping.entries[key] = Entry(joined, entry.node, entry.module, maybe)
                    self.set_on_owner(mapping, key, entry.values)
                if value.open_because and not mapping.open_because:
                    mapping.open_because = value.open_because
                mapping.rest = join(mapping.rest, value.rest)
                self.compute_keys(mapping, value.computed)
                continue
            self.compute_keys(mapping, self.paired(value, mapping.node, 0))
            held = join(mapping.rest, self.paired(value, mapping.node, 1))
            if held != mapping.rest:
                mapping.rest = held
                self.heap_version += 1
            if not mapping.open_because:
                mapping.open_because = "it is updated from something that is not known here"
                self.heap_version += 1

    def compute_keys(self, mapping: Mapping, keys: Values) -> None:
        """Note keys of a mapping that are computed."""
        computed = join(mapping.computed, keys)
        if computed != mapping.computed:
            mapping.computed = computed
            self.heap_version += 1

    def paired(self, value: Value, node: cst.CSTNode, side: int) -> Values:
        """What stands on one side in pairs of keys and values."""
        pairs = isinstance(value, (Sequence, Generator)) or (
            isinstance(value, Opaque) and value.kind == "operation"
        )
        found: Values = ()
        for pair in self.elements((value,), node) if pairs else ():
            if isinstance(pair, Sequence) and not pair.rest and len(pair.elements) == 2:
                found = join(found, pair.elements[side])
            else:
                found = join(found, self.elements((pair,), node))
        if not pairs:
            found = (self.opaque("item", node, "", ((value,),)),)
        return found

    def concatenate(self, node: cst.CSTNode, left: Values, right: Values) -> Values | None:
        """The sum of lists or tuples of the script."""
        added = (*left, *right)
        if not left or not right or not all(isinstance(value, Sequence) for value in added):
            return None
        known = [value for value in added if isinstance(value, Sequence)]
        key = ("sequence", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence(known[0].kind, node, [])
            self.nodes[key] = made
        before = (list(made.elements), made.rest)
        if len(known) > 2 or any(value is made for value in known):
            # A list that grows with every round of a loop.
            made.rest = join(made.rest, *(value.every() for value in known))
            made.elements = []
        elif known[0].rest:
            made.elements = list(known[0].elements)
            made.rest = join(known[0].rest, known[1].every())
        else:
            made.elements = [*known[0].elements, *known[1].elements]
            made.rest = known[1].rest
        if before != (made.elements, made.rest):
            self.heap_version += 1
        self.pick_into(made, picked_from(added))
        return (made,)

    def sequence_item(
        self, value: Sequence, constant: Constant | None, node: cst.CSTNode
    ) -> Values:
        """An element of a list or tuple."""
        if constant is not None and isinstance(constant.value, int):
            position = constant.value
            if not value.rest and -len(value.elements) <= position < len(value.elements):
                return value.elements[position]
            if 0 <= position < len(value.elements):
                return value.elements[position]
            return value.every()
        return value.every() or (self.opaque("item", node, "", ((value,),)),)

    def known_elements(self, values: Values) -> list[Values] | None:
        """The elements of a single sequence of known length."""
        if len(values) == 1 and isinstance(values[0], Sequence) and not values[0].rest:
            return list(values[0].elements)
        return None
