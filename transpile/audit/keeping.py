"""What of a process's position is put into settings that a file or an unread module gave."""

from __future__ import annotations

import libcst as cst

from transpile.audit.starting import Starts
from transpile.facts.values import External, Opaque, Settled, Values, only_constant


class Keeping(Starts):
    """The part of a run that remembers ``config["rank"] = rank`` and ``settings.rank = rank``."""

    #: By the settings, or their name, and the key.
    put: dict[tuple[int | str, object], Values]

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
