"""Functions outside the project that change one of their arguments, as its methods would."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.container_methods import ContainerMethods
from transpile.facts.values import Arguments, Constant, External, Mapping, Sequence, Values, join

#: Functions that put their second argument into the list that is their first.
INTO_LISTS = frozenset(
    {
        "heapq.heappush", "heapq.heappushpop", "heapq.heapreplace", "bisect.insort",
        "bisect.insort_left", "bisect.insort_right",
    }
)  # fmt: skip
#: Methods of containers that are called on their first argument: ``list.append(found, x)``.
UNBOUND = ("builtins.list.", "builtins.dict.", "builtins.set.", "collections.")
#: Those of them that put a single thing there, several, or one under a key.
ONE = frozenset({"append", "appendleft", "add", "insert"})
SEVERAL = frozenset({"extend", "extendleft", "update", "__iadd__", "__ior__"})
KEYED = frozenset({"__setitem__", "setdefault"})
#: Functions that write into the array that is their first argument.
INTO_ARRAYS = frozenset(
    {"numpy.copyto", "numpy.put", "numpy.put_along_axis", "numpy.place", "numpy.putmask",
     "numpy.fill_diagonal"}
)  # fmt: skip
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
        given = [argument.values for argument in arguments.positional()]
        if name.startswith(WITH_OUT):
            out = arguments.keyword("out")
            if out is not None and out.values != (Constant(None),):
                self.record("store", node, out.values, result=made, name="[]")
            if given[1:] and (name in INTO_ARRAYS or name.endswith(".at")):
                self.record("store", node, given[0], result=join(*given[1:]), name="[]")
            return
        if name == "builtins.object.__setattr__":
            self.builtin_setattr(arguments, node)
            return
        method = "append" if name in INTO_LISTS else ""
        if name == "operator.setitem":
            method = "__setitem__"
        elif name.startswith(UNBOUND):
            method = name.rpartition(".")[2]
        if method in ONE and given[1:]:
            self.put_into(given[0], given[-1] if method == "insert" else given[1], node, "append")
        elif method in SEVERAL and given[1:]:
            self.put_into(given[0], given[1], node, "extend")
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
