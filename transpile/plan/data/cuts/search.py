"""What a batch is made of, walked from the loss backwards to the data.

``x = X[i : i + size]`` in a loop over ``range(0, n, size)``, ``X[order[i : i + size]]`` for an
order of the samples, ``X[randint(n, (size,))]`` and ``for part in order.split(size)`` are followed.
What is found is a :class:`Cut` for each place; what is not understood is said.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    Class,
    Constant,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import children
from transpile.plan.data.cuts.bounds import Bounds, is_position, mentions_position, same
from transpile.plan.data.cuts.parts import (
    LAID,
    drawn_size,
    in_module,
    index_values,
    is_drawn_ahead,
    is_order,
    is_repeated,
    is_told_apart,
    later_indices,
    module_of,
)
from transpile.plan.graph import SIZE_OPERATIONS, called_names, method_calls, parents, walk_back
from transpile.plan.model import Cut, Plan

#: Methods that change the collection that they are called on.
CHANGING = frozenset(
    {
        "append", "extend", "add", "push", "insert", "pop", "popleft", "appendleft", "remove",
        "clear", "update", "copy_", "put", "store",
    }
)  # fmt: skip


class CutSearch:
    """The search for the cuts behind one backward pass.

    Args:
        plan: the plan so far.
        loops: the loops around it, outermost first.
        loss: what it is called on.
        happening: the calls by the identity of what they give.
    """

    def __init__(
        self, plan: Plan, loops: list[Loop], loss: Values, happening: dict[int, Event]
    ) -> None:
        self.plan = plan
        self.table = plan.table
        self.happening = happening
        self.loops = loops
        self.around = {id(loop.node) for loop in self.loops}
        self.cuts: dict[int, Cut] = {}
        self.bases: list[Value] = []
        self.problem = ""
        self.seen: set[int] = set()
        self.walk(loss)
        if self.cuts:
            self.problem = self.problem or self.displaced() or self.changed_base()

    def fail(self, why: str) -> None:
        """Note why the batches cannot be sharded; the first reason stays."""
        self.problem = self.problem or why

    def walk(self, values: Values, is_index: bool = False) -> bool:
        """Go through all that values are made of, up to the cuts; whether there were any."""
        found = False
        pending = list(values)
        while pending:
            value = pending.pop()
            if id(value) in self.plan.samples:
                found = True
            if id(value) in self.seen:
                continue
            self.seen.add(id(value))
            if isinstance(value, (Instance, Function, Class)):
                continue
            if self.cut_of(value):
                found = True
                continue
            if isinstance(value, Opaque):
                if value.kind == "operation" and value.name in SIZE_OPERATIONS:
                    continue
                if value.kind == "element" and id(value.node) in self.around:
                    if not is_index and not self.is_repetition(value):
                        self.fail("each step takes something from a loop that is no batch")
                if value.kind == "item" and isinstance(value.node, cst.Subscript):
                    self.item(value, value.node)
                    continue
                if value.kind == "call" and self.lays_side_by_side(value):
                    continue
            for group in parents(value):
                pending.extend(group)
        return found

    def is_repetition(self, value: Opaque) -> bool:
        """Whether an element of a loop is the number of a round, which no sample depends on."""
        return any("builtins.range" in called_names(one) for one in value.operands[0])

    # Cuts.

    def cut_of(self, value: Value) -> bool:
        """Note the cut that a value is; False where it is none."""
        if isinstance(value, (Opaque, Sequence)) and isinstance(value.node, cst.Subscript):
            if isinstance(value, Sequence) or value.kind == "item":
                return self.slice_of(value, value.node)
        if not isinstance(value, Opaque):
            return False
        if value.kind == "element":
            return self.piece_of(value)
        if value.kind == "call" and isinstance(value.node, cst.Call):
            if any(name in self.table.index_draws for name in called_names(value)):
                return self.draw_of(value, value.node)
        return False

    def slice_of(self, value: Opaque | Sequence, node: cst.Subscript) -> bool:
        """``data[i : i + size]``, or the first numbers of an order that is drawn in each step."""
        places = [
            place
            for place, element in enumerate(node.slice)
            if isinstance(element.slice, cst.Slice) and (element.slice.lower or element.slice.upper)
        ]
        if not places:
            return False
        part = node.slice[places[0]].slice
        assert isinstance(part, cst.Slice)
        bounds = Bounds.of(self.plan.facts, part)
        base = value.operands[0] if isinstance(value, Opaque) else ()
        if bounds.depends_on_rank(self.table.rank_calls):
            self.add(value, node, None, done=True)
            return True
        if not bounds.moves():
            if part.lower is None and places == [0] and self.draws_here(base):
                self.add(value, node, part.upper)
                return True
            return False
        if places != [0]:
            self.fail(
                "a batch is cut along a later dimension than the first, so which dimension counts "
                "the samples is not known"
            )
            return False
        why = bounds.irregular()
        if why:
            self.fail(why)
            return False
        self.bases.extend(base)
        self.add(value, node, bounds.size_node(self.plan.facts, part), bounds=bounds)
        self.origin_of(base)
        return True

    def origin_of(self, base: Values) -> None:
        """Look at what a batch is cut from: it must not itself change with the steps."""
        for value in walk_back(base):
            if isinstance(value, Opaque) and is_position(value, self.around):
                self.fail("what the batches are cut from changes with the steps")

    def draws_here(self, base: Values) -> bool:
        """Whether values are an order that is redrawn in each step."""
        return any(
            name in self.table.index_draws and value.kind == "call" and self.in_innermost(value)
            for value in walk_back(base, is_order)
            if isinstance(value, Opaque)
            for name in called_names(value)
        )

    def in_innermost(self, value: Opaque) -> bool:
        """Whether a call happens in each round of the innermost loop around the backward pass."""
        event = self.happening.get(id(value))
        if event is None or in_module(event, self.table.module_bases):
            return False
        return self.is_in_innermost(value)

    def is_in_innermost(self, value: Value) -> bool:
        """The same for calls of a model's code, too."""
        event = self.happening.get(id(value))
        if event is None or not self.loops:
            return False
        innermost = self.loops[-1].node
        return any(isinstance(f, Loop) and f.node is innermost for f in event.stack)

    def draw_of(self, value: Opaque, node: cst.Call) -> bool:
        """``randint(n, (size,))`` in a step: the positions of a batch."""
        event = self.happening.get(id(value))
        if not self.in_innermost(value):
            if event is None or not is_drawn_ahead(self.plan, event, self.loops):
                return False
        if is_told_apart(value.module, node) or is_repeated(event, self.loops):
            self.fail("what is drawn at once is single samples, not the positions of a batch")
            return False
        size = drawn_size(self.table, node, called_names(value))
        if size is None or not isinstance(size, (cst.Name, cst.Attribute, cst.Integer)):
            # As many as there are samples already: len(batch), x.size(0).
            return False
        self.add(value, node, size, draws=True)
        self.bases.extend(value.arguments.items[0].values if value.arguments.items else ())
        return True

    def piece_of(self, value: Opaque) -> bool:
        """An element of ``data.split(size)`` that a loop goes through."""
        if id(value.node) not in self.around:
            return False
        for source in value.operands[0]:
            if not isinstance(source, Opaque) or not isinstance(source.node, cst.Call):
                continue
            named = any(name in self.table.pieces for name in called_names(source))
            by_method = [
                receiver
                for name, receiver in method_calls(source)
                if name in self.table.piece_methods
                and not any(isinstance(one, Constant) for one in receiver)
            ]
            if not named and not by_method:
                continue
            if len(source.node.args) != (2 if named else 1):
                self.fail("it is not clear along which dimension the data is cut into batches")
                return False
            first = source.arguments.items[0].values if named else by_method[0]
            self.bases.extend(first)
            self.add(value, source.node, None, whole=True)
            return True
        return False

    def add(
        self,
        value: Value,
        node: cst.BaseExpression,
        size: cst.BaseExpression | None,
        *,
        done: bool = False,
        draws: bool = False,
        whole: bool = False,
        bounds: Bounds | None = None,
    ) -> None:
        """Note a cut; what it gives holds samples along the first dimension."""
        self.plan.samples[id(value)] = 0
        self.plan.kept.append(value)
        if id(node) not in self.cuts:
            module = value.module if isinstance(value, Opaque) else module_of(self.plan, node)
            self.cuts[id(node)] = Cut(module, node, size, [], done, draws, whole, bounds)
        self.cuts[id(node)].values.append(value)

    # What is made of cuts.

    def item(self, value: Opaque, node: cst.Subscript) -> None:
        """``data[positions]``: samples, where the positions are those of a batch."""
        base, index = value.operands[0], index_values(self.plan, value, node)
        if any(self.walk_index(later) for later in later_indices(self.plan, node)):
            self.fail(
                "a batch is cut along a later dimension than the first, so which dimension counts "
                "the samples is not known"
            )
        if mentions_position(index, self.around):
            if not self.walk_index(index):
                self.fail(
                    "what each step takes out of its data by position may be a single sample, or "
                    "no batch at all: which part of it each process should take is not known"
                )
                return
        elif not self.walk_index(index):
            self.walk(base)
            return
        if self.is_made_in_step(base) and self.walk(base):
            # Some of the samples of a batch are picked, not a batch of the data.
            return
        self.bases.extend(base)

    def is_made_in_step(self, values: Values) -> bool:
        """Whether values are made of what each round of the innermost loop calls or takes."""
        innermost = id(self.loops[-1].node) if self.loops else 0
        return any(
            self.is_in_innermost(value)
            or id(getattr(value, "node", None)) == innermost
            or any(mentions_position(bound, {innermost}) for bound in self.bounds_of(value))
            for value in walk_back(values)
        )

    def bounds_of(self, value: Value) -> Iterator[Values]:
        """Where a slice begins and ends."""
        node = getattr(value, "node", None)
        for element in node.slice if isinstance(node, cst.Subscript) else ():
            if isinstance(element.slice, cst.Slice):
                for bound in (element.slice.lower, element.slice.upper):
                    if bound is not None:
                        yield self.plan.facts.values_of(bound)

    def walk_index(self, index: Values) -> bool:
        """Look for cuts behind an index; whether there are any."""
        found = self.walk(index, is_index=True)
        return found or any(id(value) in self.plan.samples for value in walk_back(index))

    def lays_side_by_side(self, value: Opaque) -> bool:
        """Note ``stack([data[i] for i in positions])`` as samples, where positions are a cut."""
        names = [name.rpartition(".")[2] for name in called_names(value)]
        if not any(name in LAID for name in names) or not value.arguments.items:
            return False
        if "stack" in names and len(value.arguments.items) > 1:
            return False
        for given in value.arguments.items[0].values:
            if not isinstance(given, Sequence) or given.elements or not given.rest:
                continue
            node = given.node
            if not isinstance(node, (cst.ListComp, cst.GeneratorExp)):
                continue
            if node.for_in.inner_for_in is not None or node.for_in.ifs:
                continue
            iterated = self.plan.facts.values_of(node.for_in.iter)
            if not self.walk_index(self.in_same_call(value, iterated)):
                continue
            self.plan.samples[id(value)] = 0
            self.plan.kept.append(value)
            self.bases.extend(self.indexed_bases(node.elt))
            return True
        return False

    def in_same_call(self, call: Opaque, values: Values) -> Values:
        """Of the values of an expression, those that it has where a call beside it happens."""
        here = self.happening.get(id(call))
        if here is None:
            return values
        calls = [id(frame.node) for frame in here.calls()]
        found: list[Value] = []
        for value in values:
            there = self.happening.get(id(value))
            beside = there is not None and there.function() is here.function()
            if there is None or not beside or [id(f.node) for f in there.calls()] == calls:
                found.append(value)
        return tuple(found)

    def indexed_bases(self, node: cst.CSTNode) -> list[Value]:
        """What an expression takes its parts from by position."""
        found: list[Value] = []
        if isinstance(node, cst.Subscript):
            found.extend(self.plan.facts.values_of(node.value))
        for child in children(node):
            found.extend(self.indexed_bases(child))
        return found

    def displaced(self) -> str:
        """Why the cuts do not take the same samples of all data; empty where they do."""
        sizes = [
            self.plan.facts.values_of(cut.size)
            for cut in self.cuts.values()
            if cut.size is not None and not cut.done
        ]
        if any(not same(size, sizes[0]) for size in sizes[1:]):
            return (
                "a step takes several numbers of parts out of its data, so that it is not known "
                "which of them counts the samples"
            )
        cuts = [cut for cut in self.cuts.values() if cut.bounds is not None]
        for cut in cuts[1:]:
            if cut.bounds is not None and not cut.bounds.same_as(cuts[0].bounds):
                return (
                    "a step cuts out of its data at two places, as where a series is to be "
                    "continued: the first dimension may count time, not samples"
                )
        return ""

    def changed_base(self) -> str:
        """Why the data does not stay what it is while it is trained on; empty where it does."""
        data = {id(value) for value in self.bases if not isinstance(value, Constant)}
        for event in self.plan.facts.events:
            inside = any(isinstance(f, Loop) and id(f.node) in self.around for f in event.stack)
            if event.detached or not inside:
                continue
            changed: Values = ()
            if event.kind in ("store", "operate") and event.name in ("[]", "Add"):
                changed = event.callee
            elif event.kind == "call":
                changed = tuple(
                    receiver
                    for callee in event.callee
                    if isinstance(callee, Opaque)
                    and callee.kind == "attribute"
                    and callee.name in CHANGING
                    for receiver in callee.operands[0]
                )
            if any(id(value) in data for value in changed):
                return (
                    "the training itself goes on adding to the data that the batches are cut from, "
                    "so that it comes to differ between the processes"
                )
        return ""
