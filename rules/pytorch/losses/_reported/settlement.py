"""What becomes of the places where reported numbers leave the batch."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.flow.own_processes import is_elsewhere
from transpile.plan.flow.ranks import Ranks
from transpile.plan.graph import is_instance_of, walk_back
from transpile.plan.model import Loader
from transpile.quantity.asking import Duty, Kind
from transpile.rules.pytorch.losses._multiples import is_simple

from .contents import DEEPEST
from .inquiry import Inquiry
from .model import Change, Group, Leaf, Part


class Settlement:
    """Decides what becomes of the places where reported numbers leave the batch.

    Args:
        inquiry: what is known already; places and doubts are noted there.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        self.ranks = Ranks(self.plan, frozenset())
        self.calls: dict[int, list[Event]] = {}
        for event in self.plan.facts.calls:
            self.calls.setdefault(id(event.node), []).append(event)

    def settle(self, groups: list[Group]) -> None:
        """Decide what becomes of the places that some parts share.

        Where sums are only ever divided by counts, averages over the processes are enough for
        both. Else all of them become those of the global batch.
        """
        leaves = {id(leaf.node): leaf for group in groups for leaf in group.leaves}
        cut = any(leaf.cuts is not None and leaf.degree for leaf in leaves.values())
        fractions = all(is_fraction(value) for group in groups for value in group.part.values)
        if all(group.is_ratio for group in groups) and (fractions or not cut):
            self.keep(leaf for leaf in leaves.values() if leaf.change is not Change.COUNT)
            return
        growing = [leaf for leaf in leaves.values() if leaf.degree]
        agreed = {pending.node for pending in self.inquiry.settled if pending.duty is Duty.NUMBER}
        fixed = [leaf for leaf in growing if leaf.degree != 1 or self.is_agreed(leaf, agreed)]
        if not fixed and not any(leaf.evaluates for leaf in growing):
            for leaf in leaves.values():
                leaf.whole = True
            self.keep(leaves.values())
            return
        ready = not any(leaf.plain for leaf in growing)
        if not fixed and ready and all(self.find_loader(leaf) for leaf in growing):
            for leaf in growing:
                shared_count = leaf.change is Change.COUNT
                leaf.change = Change.SHARED_COUNT if shared_count else Change.SHARED_SUM
            self.keep(leaves.values())
            return
        if cut and not fractions:
            for group in groups:
                self.inquiry.doubt(group.part, "it counts the samples of one process")
            return
        self.keep(leaf for leaf in leaves.values() if leaf.change is not Change.COUNT)
        for group in groups:
            if not group.is_ratio:
                self.scale_part(group)

    def finish(self, leaf: Leaf) -> None:
        """Choose between mean and sum, now that it is known which counts become larger."""
        if leaf.change is not Change.MEAN:
            return
        scaled = {node for node in leaf.inner if self.is_scaled(node)}
        if scaled and scaled != leaf.inner:
            del self.inquiry.found.leaves[id(leaf.node)]
            part = Part((), leaf.node, leaf.module, leaf.event)
            self.inquiry.doubt(
                part, "some of the counts in it are those of all processes, some are not"
            )
            return
        degree = leaf.whole_degree if scaled else leaf.degree
        power = degree if leaf.whole else degree - leaf.degree
        if power == 1 and leaf.plain and self.evaluates(leaf):
            del self.inquiry.found.leaves[id(leaf.node)]
            part = Part((), leaf.node, leaf.module, leaf.event)
            self.inquiry.doubt(part, "batches that each process has whole are among it")
            return
        if power == 1:
            leaf.change = Change.SUM

    def is_scaled(self, node: int) -> bool:
        """Whether a count becomes that of all processes."""
        leaf = self.inquiry.found.leaves.get(node)
        return leaf is not None and leaf.change is Change.COUNT

    def is_agreed(self, leaf: Leaf, agreed: set[cst.CSTNode]) -> bool:
        """Whether a number is averaged over the processes for the sake of a backward pass."""
        return any(node in agreed for node in leaf.module.source.parents(leaf.node))

    def scale_part(self, group: Group) -> None:
        """Multiply what is reported rather than what it is made of."""
        part, node = group.part, group.part.node
        values = self.plan.facts.values_of(node) if node is not None else ()
        known = [self.inquiry.analysis.of((value,)) for value in values if value != Constant(0)]
        degree = group.quantity.degree
        if node is None or not degree or not known:
            self.inquiry.doubt(part, "it counts the samples of one process")
        elif any(one.kind is not Kind.EQUAL or one.degree != degree for one in known):
            self.inquiry.doubt(part, "it counts the samples of one process")
        else:
            self.keep([Leaf(part.module, node, degree, Change.COUNT, part.event)])

    def evaluates(self, leaf: Leaf) -> bool:
        """Whether a number is made of batches of loaders that are not sharded."""
        others = {id(loader.value) for loader in self.plan.loaders if not loader.training}
        return any(
            isinstance(value, Opaque)
            and value.kind == "element"
            and any(id(source) in others for source in walk_back(value.operands[0]))
            for value in walk_back(self.plan.facts.values_of(leaf.node))
        )

    def find_loader(self, leaf: Leaf) -> str:
        """The text of the loader around a place, where it tells whether its data is shared."""
        loaders = {id(loader.value): loader for loader in self.plan.loaders}
        for around in leaf.module.source.parents(leaf.node):
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                break
            if not isinstance(around, cst.For):
                continue
            node: cst.BaseExpression = around.iter
            while isinstance(node, cst.Call) and node.args and not node.args[0].star:
                node = node.args[0].value
            values = self.plan.facts.values_of(node)
            if not values or not is_simple(node):
                continue
            found = [loaders.get(id(value)) for value in values]
            if all(loader is not None and tells_shards(loader) for loader in found):
                leaf.loader = leaf.module.source.code(node)
                return leaf.loader
        return ""

    def keep(self, leaves: Iterable[Leaf]) -> None:
        """Note places that are to be changed."""
        for leaf in leaves:
            if self.on_some_ranks(leaf):
                part = Part((), leaf.node, leaf.module, leaf.event)
                self.inquiry.doubt(
                    part, "only some processes come here, and cannot agree on it here"
                )
            elif self.in_a_thread(leaf):
                part = Part((), leaf.node, leaf.module, leaf.event)
                self.inquiry.doubt(
                    part, "a thread comes here, and cannot meet those of other processes in order"
                )
            else:
                self.inquiry.found.leaves.setdefault(id(leaf.node), leaf)

    def on_some_ranks(self, leaf: Leaf) -> bool:
        """Whether only some processes reach a place."""
        if leaf.change in (Change.COUNT, Change.SHARED_COUNT):
            return False
        inner: cst.CSTNode = leaf.node
        for around in (leaf.node, *leaf.module.source.parents(leaf.node)):
            if isinstance(around, (cst.IfExp, cst.If)) and inner is not around.test:
                if self.is_doubted(around.test):
                    return True
            inner = around
            for event in self.calls.get(id(around), ()):
                if self.ranks.some_ranks(event):
                    return True
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                break
        return False

    def in_a_thread(self, leaf: Leaf) -> bool:
        """Whether a place at which the processes would meet is reached in a thread of the script.

        The process may meet the others elsewhere at that time, in another order in each.
        """
        if leaf.change in (Change.COUNT, Change.SHARED_COUNT):
            return False
        around = (leaf.node, *leaf.module.source.parents(leaf.node))
        return any(
            is_elsewhere(self.plan, event)
            for node in around
            for event in self.calls.get(id(node), ())
        )

    def is_doubted(self, test: cst.BaseExpression) -> bool:
        """Whether the processes may answer differently what a condition asks."""
        doubtful = self.inquiry.found.doubts.keys() | self.inquiry.undecided
        return any(id(node) in doubtful for node in descendants(test))


def connected(groups: list[Group]) -> list[list[Group]]:
    """The groups, together with all that share a place with them, directly or through others."""
    found: list[tuple[set[int], list[Group]]] = []
    for group in groups:
        if not group.leaves:
            continue
        nodes, members = group.nodes, [group]
        apart = []
        for others in found:
            if others[0] & nodes:
                nodes = nodes | others[0]
                members = [*others[1], *members]
            else:
                apart.append(others)
        found = [*apart, (nodes, members)]
    return [members for _, members in found]


def is_fraction(value: Value, depth: int = 0) -> bool:
    """Whether a number is a quotient, so that it is no integer in any case."""
    if not isinstance(value, Opaque) or value.kind != "operation" or depth > DEEPEST:
        return isinstance(value, Constant) and isinstance(value.value, float)
    if value.name == "Divide":
        return True
    if value.name in ("Multiply", "Add", "Subtract", "Minus"):
        return any(
            bool(operand) and all(is_fraction(one, depth + 1) for one in operand)
            for operand in value.operands
        )
    return False


def tells_shards(loader: Loader) -> bool:
    """Whether a loader's sampler tells among how many processes its data is shared."""
    if loader.argument("batch_sampler") is not None or loader.event.arguments.unknown_because:
        return False
    sampler = loader.argument("sampler")
    if sampler is not None and sampler.values != (Constant(None),):
        return False
    dataset = loader.argument("dataset")
    return dataset is not None and not any(
        is_instance_of(value, frozenset({"torch.utils.data.IterableDataset"}))
        for value in dataset.values
    )
