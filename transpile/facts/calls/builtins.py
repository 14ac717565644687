"""What the builtins that move values do."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.conversions import INDEXED, Conversions
from transpile.facts.calls.standing_in import never_calls
from transpile.facts.picking import picked_from
from transpile.facts.state import call_frames, external, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Sequence,
    Super,
    Value,
    Values,
    join,
    only_constant,
)

#: Lists by other names.
LISTS = frozenset({"collections.deque", "collections.UserList"})


class BuiltinCalls(Conversions):
    """The part of the interpreter that knows builtins."""

    def builtin_call(
        self, callee: External, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """The result of a modelled callable; None where it is not modelled."""
        name = callee.name
        if name in self.dialect.iterates_argument and arguments.items:
            return (self.passing_iterator(arguments.items[0].values, node),)
        if name == "collections.UserDict":
            return self.builtin_dict(arguments, node)
        if name == "collections.defaultdict":
            return self.dict_of_lists(arguments, node)
        if name == "builtins.dict.fromkeys" and not arguments.unknown_because:
            return self.dict_from_keys(arguments, node)
        if name in LISTS and not arguments.unknown_because:
            first = arguments.get("iterable", 0) or arguments.get("initlist", 0)
            given = (Argument(first.values, first.node),) if first is not None else ()
            return self.copied(Arguments(given), node, "list", keep_order=True)
        if name in ("dataclasses.asdict", "builtins.vars") and len(arguments.items) == 1:
            given_one, *others = arguments.items[0].values or (None,)
            if isinstance(given_one, Instance) and not others:
                return (self.attributes_of(given_one, node),)
        if not name.startswith("builtins."):
            return None
        word = name[len("builtins.") :]
        if word in ("max", "min") and arguments.get("key", None) is not None:
            # What is chosen is none of the numbers that it is chosen by.
            for chosen_from in arguments.positional()[:1]:
                self.compare(chosen_from.values, arguments, node)
        method = getattr(self, f"builtin_{word}", None)
        if method is None:
            return self.other_builtin(word, arguments, node)
        found: Values | None = method(arguments, node)
        return found

    # Iteration.

    def builtin_sequence(
        self, node: cst.CSTNode, kind: str, elements: list[Values], rest: Values = ()
    ) -> Sequence:
        """The sequence of a kind that a builtin makes at this place."""
        key = ("sequence", kind, id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence(kind, node, elements, rest)
            self.nodes[key] = made
        else:
            made.elements = elements
            made.rest = join(made.rest, rest)
        return made

    def passing_iterator(self, values: Values, node: cst.CSTNode) -> Opaque:
        """An iterator over its argument that is also an object of its own (a progress bar)."""
        return self.opaque("operation", node, "iterate", (values,))

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating gives, seeing through iterators over something else."""
        if isinstance(value, Opaque) and value.kind == "operation" and value.name == "iterate":
            return self.elements(value.operands[0], node)
        if isinstance(value, Opaque) and value.kind == "operation" and value.name == "enumerate":
            inner = self.elements(value.operands[0], node)
            count = self.opaque("operation", node, "index")
            key = ("pair", id(value), id(node))
            made = self.nodes.get(key)
            if not isinstance(made, Sequence):
                made = Sequence("tuple", node, [(count,), inner])
                self.nodes[key] = made
            made.elements[1] = join(made.elements[1], inner)
            return (made,)
        if isinstance(value, Opaque) and value.kind == "operation" and value.name == "zip":
            key = ("zip", id(value), id(node))
            made = self.nodes.get(key)
            parts = [self.elements(operand, node) for operand in value.operands]
            if not isinstance(made, Sequence):
                made = Sequence("tuple", node, parts)
                self.nodes[key] = made
            made.elements = [join(old, new) for old, new in zip(made.elements, parts, strict=False)]
            return (made,)
        return super().elements_of(value, node)

    def builtin_enumerate(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``enumerate(iterable)``."""
        first = arguments.get("iterable", 0)
        values = first.values if first is not None else ()
        return (self.opaque("operation", node, "enumerate", (values,)),)

    def builtin_zip(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``zip(*iterables)``."""
        if arguments.unknown_because:
            return (self.columns(arguments, node),)
        operands = tuple(argument.values for argument in arguments.positional())
        return (self.opaque("operation", node, "zip", operands),)

    def columns(self, arguments: Arguments, node: cst.CSTNode) -> Sequence:
        """``zip(*rows)``: what stands at each place of the rows, however many rows there are."""
        rows = join(
            *(self.elements(argument.values, node) for argument in arguments.positional()),
            arguments.rest or unknown(arguments.unknown_because or ""),
        )
        known = [row.elements for row in rows if isinstance(row, Sequence) and not row.rest]
        if len(known) < len(rows) or len({len(row) for row in known}) != 1:
            column = self.column(node, None, self.elements(rows, node))
            return self.builtin_sequence(node, "generator", [], (column,))
        columns: list[Values] = [
            (self.column(node, place, join(*values)),)
            for place, values in enumerate(zip(*known, strict=True))
        ]
        return self.builtin_sequence(node, "generator", columns)

    def column(self, node: cst.CSTNode, place: int | None, values: Values) -> Sequence:
        """What stands at one place of all rows, or at any."""
        key = ("column", id(node), self.context, place)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence("tuple", node, [])
            self.nodes[key] = made
        made.rest = join(made.rest, values)
        for arg in node.args if isinstance(node, cst.Call) else ():
            self.pick_into(made, picked_from(self.values.get(id(arg.value), ())))
        return made

    def builtin_iter(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``iter(iterable)``."""
        first = arguments.get("object", 0)
        values = first.values if first is not None else ()
        self.record("iterate", node, values, name="iter")
        return (self.opaque("operation", node, "iterate", (values,)),)

    def builtin_next(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``next(iterator)``."""
        first = arguments.get("iterator", 0)
        values = first.values if first is not None else ()
        self.record("iterate", node, values, name="next")
        default = arguments.get("default", 1)
        return join(self.elements(values, node), default.values if default else ())

    def builtin_reversed(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``reversed(sequence)``."""
        first, *others = arguments.positional()[0].values or (None,) if arguments.items else (None,)
        told = self.ask_object(first, "__reversed__", (), node) if first and not others else None
        return told or self.copied(arguments, node, "list", keep_order=False)

    def builtin_sorted(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``sorted(iterable, key=...)``."""
        made = self.copied(arguments, node, "list", keep_order=False)
        self.compare(made, arguments, node)
        return made

    def compare(self, sorted_values: Values, arguments: Arguments, node: cst.CSTNode) -> None:
        """Note what the elements of a sequence are put in order by."""
        elements = self.elements(sorted_values, node)
        key = arguments.get("key", None)
        if key is not None and key.values and key.values != (Constant(None),):
            given = Arguments((Argument(elements, None),))
            elements = self.invoke(key.values, given, node)
        self.record("sort", node, sorted_values, result=elements)

    def builtin_list(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``list(iterable)``."""
        return self.copied(arguments, node, "list", keep_order=True)

    def builtin_tuple(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``tuple(iterable)``."""
        return self.copied(arguments, node, "tuple", keep_order=True)

    def builtin_set(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``set(iterable)``."""
        return self.copied(arguments, node, "set", keep_order=False)

    def copied(
        self, arguments: Arguments, node: cst.CSTNode, kind: str, keep_order: bool
    ) -> Values:
        """A new sequence of the elements of the first argument."""
        first = arguments.get("iterable", 0)
        if first is None:
            return (self.builtin_sequence(node, kind, []),)
        known = self.known_elements(first.values)
        if known is not None and keep_order:
            made = self.builtin_sequence(node, kind, known)
            self.pick_into(made, picked_from(first.values))
            return (made,)
        made = self.builtin_sequence(node, kind, [], self.elements(first.values, node))
        self.pick_into(made, picked_from(first.values))
        self.record("iterate", node, first.values, name="copy")
        return (made,)

    def builtin_map(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``map(function, *iterables)``."""
        ordered = arguments.positional()
        if not ordered or (len(ordered) < 2 and not arguments.unknown_because):
            return unknown("map() without an iterable")
        given = tuple(Argument(self.elements(a.values, node), None) for a in ordered[1:])
        rest = self.elements(arguments.rest, node)
        spread = Arguments(given, arguments.unknown_because, rest)
        result = self.invoke(ordered[0].values, spread, node)
        made = self.builtin_sequence(node, "generator", [], result)
        self.pick_into(made, join(*(picked_from(each.values) for each in ordered[1:])))
        if (id(node), self.context) in self.picks or self.does_pick(ordered[0].values):
            self.pick_into(made, join(*(each.values for each in ordered[1:])))
        return (made,)

    def builtin_filter(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``filter(function, iterable)``: the elements of the iterable."""
        ordered = arguments.positional()
        if len(ordered) != 2:
            return unknown("filter() without an iterable")
        elements = self.elements(ordered[1].values, node)
        if not (len(ordered[0].values) == 1 and only_constant(ordered[0].values)):
            self.invoke(ordered[0].values, Arguments((Argument(elements, None),)), node)
        made = self.opaque("operation", node, "filter", (ordered[1].values,))
        made.inner = join(made.inner, elements)
        return (made,)

    # Objects.

    def builtin_dict(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``dict(mapping, **entries)``."""
        made = self.new_mapping(node)
        for argument in arguments.items:
            if argument.keyword is None:
                self.update_mapping(made, argument.values)
            else:
                self.store_item(made, (Constant(argument.keyword),), argument.values, argument.node)
        if arguments.unknown_because:
            made.open_because = arguments.unknown_because
        return (made,)

    def dict_from_keys(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``dict.fromkeys(keys, value)``."""
        made = self.new_mapping(node)
        keys, value = arguments.get("iterable", 0), arguments.get("value", 1)
        values = value.values if value is not None else (Constant(None),)
        for key in self.elements(keys.values, node) if keys is not None else ():
            self.store_item(made, (key,), values, value.node if value is not None else None)
        return (made,)

    def dict_of_lists(self, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """``defaultdict(list)`` or of objects of the project, empty as it is made; else None."""
        given = [item.values for item in arguments.items]
        if arguments.unknown_because or len(given) != 1:
            return None
        own = all(isinstance(value, (Class, Function)) for value in given[0])
        if not own and given[0] != external("builtins.list"):
            return None
        made = self.new_mapping(node)
        made.makes_lists = not own
        made.factory = given[0] if own else ()
        return (made,)

    def builtin_super(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``super()`` with or without arguments."""
        frames = call_frames(self.stack)
        if not frames:
            return external("builtins.object")
        frame = frames[-1]
        owner = frame.function.owner
        receiver = frame.receiver[0] if frame.receiver else None
        if owner is None or receiver is None:
            return unknown("super() outside a method")
        return (Super(receiver, owner),)

    def builtin_isinstance(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``isinstance``: decided for objects of project classes."""
        ordered = arguments.positional()
        if len(ordered) == 2 and len(ordered[0].values) == 1 and len(ordered[1].values) == 1:
            value, cls = ordered[0].values[0], ordered[1].values[0]
            # What wraps an object stands for it here, so that of wrappers nothing is decided.
            wrapper = isinstance(cls, External) and cls.name in self.dialect.returns_argument
            if isinstance(value, Instance) and isinstance(cls, (Class, External)) and not wrapper:
                return (Constant(cls in list(value.cls.ancestry())),)
        return (self.opaque("operation", node, "isinstance", tuple(a.values for a in ordered)),)

    def builtin_len(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``len``: known for sequences of known length."""
        first = arguments.get("obj", 0)
        values = first.values if first is not None else ()
        known = self.known_elements(values)
        if known is not None and isinstance(values[0], Sequence) and values[0].kind == "tuple":
            return (Constant(len(known)),)
        made = self.opaque("operation", node, "len", (values,))
        if len(values) == 1:
            told = self.ask_object(values[0], "__len__", (), node)
            made.inner = join(made.inner, told or ())
        return (made,)

    # Those that are not modelled.

    def other_builtin(self, word: str, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """Other builtins: a node of the value graph over their arguments."""
        if word in ("print", "open", "input", "exec", "eval", "compile", "__import__"):
            return None
        if "." in word:
            return None
        told = self.stood_for(word, arguments, node)
        if told is not None:
            return told
        if word in INDEXED:
            arguments = self.with_indexes(arguments, node)
        if word in ("sum", "max", "min", "any", "all"):
            arguments = self.with_elements(arguments, node)
        if not never_calls(f"builtins.{word}"):
            self.escape(arguments, node)
        return (
            self.opaque("call", node, callee=external(f"builtins.{word}"), arguments=arguments),
        )

    def with_elements(self, arguments: Arguments, node: cst.CSTNode) -> Arguments:
        """Arguments with lists of their elements in place of objects that are iterated over."""
        items = []
        for item in arguments.items:
            if len(item.values) == 1 and isinstance(item.values[0], Instance):
                key = ("elements of", id(node), self.context, id(item.node))
                held = self.nodes.get(key)
                if not isinstance(held, Sequence):
                    held = Sequence("list", node, [])
                    self.nodes[key] = held
                held.rest = join(held.rest, self.elements(item.values, node))
                item = Argument((held,), item.node, item.keyword)
            items.append(item)
        return Arguments(tuple(items), arguments.unknown_because, arguments.rest)

    def escape(self, arguments: Arguments, node: cst.CSTNode) -> None:
        """Functions given to the outside; the part that knows calls runs them."""
