"""Functions outside the project that change one of their arguments, as its methods would."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.container_methods import ContainerMethods
from transpile.facts.values import Arguments, Constant, External, Mapping, Sequence, Values, join

#: Functions that put an argument into the list that is their first, with what they call both.
INTO_LISTS = {
    "heapq.heappush": ("heap", "item"),
    "heapq.heappushpop": ("heap", "item"),
    "heapq.heapreplace": ("heap", "item"),
    "bisect.insort": ("a", "x"),
    "bisect.insort_left": ("a", "x"),
    "bisect.insort_right": ("a", "x"),
}
#: Methods of containers that are called on their first argument: ``list.append(found, x)``.
UNBOUND = ("builtins.list.", "builtins.dict.", "builtins.set.", "collections.")
#: Those of them that put a single thing there, several, or one under a key.
ONE = frozenset({"append", "appendleft", "add", "insert"})
SEVERAL = frozenset({"extend", "extendleft", "update", "__iadd__", "__ior__"})
KEYED = frozenset({"__setitem__", "setdefault"})
#: Functions that write into the array that is their first argument, with what they call it.
INTO_ARRAYS = {
    "numpy.copyto": "dst",
    "numpy.put": "a",
    "numpy.put_along_axis": "arr",
    "numpy.place": "arr",
    "numpy.putmask": "a",
    "numpy.fill_diagonal": "a",
    "struct.pack_into": "",
}
#: Packages whose functions write what they give into an argument ``out``.
WITH_OUT = ("torch.", "numpy.")


class ArgumentsChanged(ContainerMethods):
    """The part of the interpreter that knows functions which change their arguments."""

    def change_arguments(
        self, callee: External, arguments: Arguments, node: cst.CSTNode, made: Values
    ) -> None:
        """Do to its arguments what a function outside the project does, and record it.

        Args:
            callee: the function.
            arguments: its arguments.
            node: the call.
            made: what the call gives.
        """
        name = callee.name
        if name.startswith(WITH_OUT):
            out = arguments.keyword("out")
            if out is not None and out.values != (Constant(None),):
                self.record("store", node, out.values, result=made, name="[]")
        if name in INTO_ARRAYS or (name.startswith("numpy.") and name.endswith(".at")):
            place = 1 if name == "struct.pack_into" else 0
            array = arguments.get(INTO_ARRAYS.get(name, ""), place)
            if array is not None:
                others = [item.values for item in arguments.items if item is not array]
                self.record("store", node, array.values, result=join(*others), name="[]")
            return
        if name in ("builtins.object.__setattr__", "builtins.type.__setattr__"):
            self.builtin_setattr(arguments, node, own=False)
            return
        if name in INTO_LISTS:
            pair = [arguments.get(word, at) for at, word in enumerate(INTO_LISTS[name])]
            given = [argument.values for argument in pair if argument is not None]
        else:
            given = [argument.values for argument in arguments.positional()]
        method = "append" if name in INTO_LISTS else ""
        if name == "operator.setitem":
            method = "__setitem__"
        elif name.startswith(UNBOUND):
            method = name.rpartition(".")[2]
        if method in ONE and given[1:]:
            self.put_into(given[0], given[-1] if method == "insert" else given[1], node, "append")
        elif method in SEVERAL and given[1:]:
            self.put_into(given[0], join(*given[1:]), node, "extend")
        elif method in KEYED and given[2:]:
            for value in given[0]:
                if isinstance(value, Mapping):
                    self.store_item(value, given[1], given[2], None)
                elif isinstance(value, Sequence):
                    self.store_element(value, given[1], given[2])
            self.record("store", node, given[0], result=given[2], name="[]")

    def put_into(self, containers: Values, added: Values, node: cst.CSTNode, how: str) -> None:
        """Put something into containers behind what is there; all entries of it for ``extend``."""
        for container in containers:
            if isinstance(container, Sequence):
                new = self.elements(added, node) if how == "extend" else added
                rest = join(container.rest, new)
                if rest != container.rest:
                    container.rest = rest
                    self.heap_version += 1
            elif isinstance(container, Mapping) and how == "extend":
                self.update_mapping(container, added)
        self.record("operate", node, containers, result=added, name=how)
