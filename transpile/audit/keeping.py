"""What of a process's position is put into settings that a file or an unread module gave."""

from __future__ import annotations

import libcst as cst

from transpile.audit.starting import Starts
from transpile.facts.values import (
    Arguments,
    Constant,
    External,
    Opaque,
    Settled,
    Values,
    only_constant,
)


class Keeping(Starts):
    """The part of a run that remembers ``config["rank"] = rank`` and ``settings.rank = rank``."""

    #: By the settings, or their name, and the key.
    put: dict[tuple[int | str, object], Values]
    switches: dict[str, Constant]

    def call_opaque(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``add_argument("--ema", action="store_true", default=True)`` is true, come what may."""
        if callee.kind == "attribute" and callee.name == "add_argument":
            told = [arguments.keyword(word) for word in ("action", "default")]
            action, default = (
                only_constant(one.values) if one is not None else None for one in told
            )
            if action is not None and default is not None:
                if (action.value, default.value) in (("store_true", True), ("store_false", False)):
                    self.switches[destination(arguments)] = default
        return super().call_opaque(callee, arguments, node)

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """What was put there, where something was."""
        key = only_constant(index)
        if key is not None and len(base) == 1 and (id(base[0]), key.value) in self.put:
            return self.put[id(base[0]), key.value]
        return super().item(base, index, node)

    def store_subscript(self, target: cst.Subscript, values: Values) -> None:
        """Remember what of the position is put under a key."""
        super().store_subscript(target, values)
        part = target.slice[0].slice
        if len(target.slice) != 1 or not isinstance(part, cst.Index):
            return
        key = only_constant(self.values.get(id(part.value), ()))
        for base in self.values.get(id(target.value), ()) if key is not None else ():
            if isinstance(base, Opaque) and key is not None:
                self.keep((id(base), key.value), values)

    def store_attribute(self, target: cst.Attribute, values: Values) -> None:
        """Remember what of the position is set as an attribute of what is not read."""
        super().store_attribute(target, values)
        for base in self.values.get(id(target.value), ()):
            if isinstance(base, External):
                self.keep((base.name, target.attr.value), values)

    def keep(self, place: tuple[int | str, object], values: Values) -> None:
        """Remember what is put in a place, or that it is nothing of the position any more."""
        if values and all(isinstance(one, Settled) for one in values):
            if self.put.get(place) != values:
                self.heap_version += 1
            self.put[place] = values
        else:
            self.put.pop(place, None)


def destination(arguments: Arguments) -> str:
    """The attribute that an argument of the command line becomes."""
    told = arguments.keyword("dest")
    names = [told.values] if told is not None else [one.values for one in arguments.positional()]
    found = [str(one.value) for values in names if (one := only_constant(values)) is not None]
    longest = next((name for name in found if name.startswith("--")), found[0] if found else "")
    return longest.lstrip("-").replace("-", "_")


def is_parsed(value: Opaque) -> bool:
    """Whether a value is what a parser made of the command line."""
    while value.kind == "item" and value.operands and len(value.operands[0]) == 1:
        inner = value.operands[0][0]
        if not isinstance(inner, Opaque):
            return False
        value = inner
    return any(
        isinstance(callee, Opaque) and callee.name in ("parse_args", "parse_known_args")
        for callee in value.callee
    )
