"""Lists and meters that numbers of batches are put into, and that can wait until they are read.

A mean over the processes of means over them is the same again: what a list or a meter keeps is
averaged wherever the script comes to read it, as often as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Class, External, Instance, Opaque
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.quantity.asking import Kind
from transpile.rules.pytorch.losses._multiples import is_simple
from transpile.rules.pytorch.losses._reported import Change, Leaf

from .averaged import averaged, methods_of
from .keeper import Keeper, block_of, only_holds
from .names import Uses, owner_of, start_by, uses_of
from .totals import Kept, Loops, Place, Postponed, Totals, leaves_reads_out, loops_around

#: Methods of lists that read them.
READING = frozenset({"copy", "count", "index"})
#: Methods of other objects that may keep what they are given.
KEEPING = frozenset(
    {"add", "append", "extend", "insert", "put", "push", "register", "setdefault", "update"}
)
#: Functions that read what they are given later.
LATER = ("functools.", "itertools.", "builtins.iter", "builtins.map", "builtins.filter")


class Keepers:
    """Finds the lists and meters that can wait.

    Args:
        totals: what is known of totals.
        waiting: the numbers that totals keep, by the identity of their node.
    """

    def __init__(self, totals: Totals, waiting: frozenset[int]) -> None:
        self.totals = totals
        self.waiting = waiting
        self.plan = totals.plan
        self.values = totals.plan.facts.values_of

    def find(self) -> Iterator[Postponed]:
        """All of them."""
        seen: set[tuple[int, str]] = set()
        for leaf in self.totals.numbers.values():
            keeper = self.keeper_of(leaf)
            if keeper is None or (id(keeper.owner), keeper.name) in seen:
                continue
            seen.add((id(keeper.owner), keeper.name))
            if isinstance(keeper.owner, cst.Module) and keeper.module is not self.plan.entry:
                continue
            yield from self.of(keeper)

    def keeper_of(self, leaf: Leaf) -> Keeper | None:
        """The variable with the object that a number is given to."""
        owner = owner_of(leaf.module, leaf.node)
        for around in ancestors(leaf.module, leaf.node):
            if not isinstance(around, cst.BaseSmallStatement):
                continue
            call = around.value if isinstance(around, cst.Expr) else None
            if owner is None or not isinstance(call, cst.Call):
                return None
            function = call.func
            if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name):
                return Keeper(leaf.module, owner, function.value.value, function.attr.value)
            return None
        return None

    def of(self, keeper: Keeper) -> Iterator[Postponed]:
        """What one variable is kept from the other processes for, loop by loop; all or none."""
        module = keeper.module
        is_list = keeper.method == "append"
        begins = self.is_new_list if is_list else self.is_new_meter
        uses = uses_of(
            module,
            keeper.owner,
            keeper.name,
            lambda module, node: start_by(module, node, begins),
            keeper.addition,
        )
        if uses is None or uses.settings or not uses.starts:
            return
        found: list[Postponed] = []
        covered: set[int] = set()
        for statement, _ in uses.additions:
            if id(statement) in covered:
                continue
            for loop in loops_around(module, keeper.owner, statement):
                inside = {id(node) for node in descendants(loop)}
                one = self.over_loop(keeper, uses, loop, inside, is_list=is_list)
                if one is not None:
                    found.append(one)
                    covered |= inside
                    break
            else:
                return
        if found and len({one.change for one in found}) == 1:
            yield from found

    def over_loop(
        self, keeper: Keeper, uses: Uses, loop: Loops, inside: set[int], *, is_list: bool
    ) -> Postponed | None:
        """A list or meter that a loop gives numbers to; None where it cannot wait."""
        module = keeper.module
        leaves: list[Leaf] = []
        attributes: tuple[str, ...] = ()
        for statement, call in uses.additions:
            if id(statement) not in inside:
                continue
            assert isinstance(call, cst.Call)
            if not self.is_met_by_all(module, statement, loop):
                return None
            if is_list:
                given = self.appended(module, call)
            else:
                given, attributes = self.updated(module, call, attributes)
            if not given:
                return None
            leaves += given
        if any(leaf.change is not Change.MEAN or leaf.loader for leaf in leaves):
            return None
        if all(self.is_reduced_beside(leaf) for leaf in leaves):
            return None
        aliases = Aliases(self, keeper, uses, loop, inside, is_list=is_list)
        reads = aliases.reads()
        if reads is None or not self.leaves_alike(module, loop):
            return None
        known = Uses(uses.starts, uses.additions, [], reads)
        places = self.totals.read_in(module, known, loop, inside, Change.MEAN)
        if places is None:
            return None
        if any(id(read) not in inside for read in reads):
            if leaves_reads_out(module, loop, known):
                return None
            places.append(Place(module, loop))
        if not places or not all(self.totals.reached_by_all(leaf, loop) for leaf in leaves):
            return None
        order = min(module.source.span(leaf.node).start for leaf in leaves)
        kept = Kept.LIST if is_list else Kept.METER
        return Postponed(
            keeper.name,
            Change.MEAN,
            "",
            self.totals.own(leaves),
            tuple(places),
            order,
            kept,
            attributes,
        )

    # What is put into it.

    def appended(self, module: Module, call: cst.Call) -> list[Leaf]:
        """The numbers of this process that an element of a list is made of; none for others."""
        if len(call.args) != 1 or call.args[0].star or call.args[0].keyword is not None:
            return []
        return self.totals.linear(module, call.args[0].value) or []

    def updated(
        self, module: Module, call: cst.Call, known: tuple[str, ...]
    ) -> tuple[list[Leaf], tuple[str, ...]]:
        """The numbers of this process that a meter is given, and its attributes that hold them."""
        methods = [value for value in self.values(call.func) if isinstance(value, BoundMethod)]
        functions = {id(each.function): each.function for each in methods}
        classes = {
            id(each.receiver.cls): each.receiver.cls
            for each in methods
            if isinstance(each.receiver, Instance)
        }
        if len(functions) != 1 or len(classes) != 1 or len(methods) != len(self.values(call.func)):
            return [], ()
        (function,), (cls,) = functions.values(), classes.values()
        node = function.node
        if not isinstance(node, cst.FunctionDef) or node not in methods_of(cls).values():
            return [], ()
        names = [p.name.value for p in (*node.params.posonly_params, *node.params.params)][1:]
        leaves: list[Leaf] = []
        own: set[str] = set()
        for position, argument in enumerate(call.args):
            if argument.star or (argument.keyword is None and position >= len(names)):
                return [], ()
            given = self.totals.linear(module, argument.value)
            if given is None and not self.is_equal(module, argument.value):
                return [], ()
            if given:
                keyword = argument.keyword
                own.add(keyword.value if keyword is not None else names[position])
                leaves += given
        found = averaged(cls, function, frozenset(own))
        if found is None or (known and found.attributes != known):
            return [], ()
        return leaves, found.attributes

    def is_reduced_beside(self, leaf: Leaf) -> bool:
        """Whether a statement next to that of a number has to reduce the same one, as a print."""
        source = leaf.module.source
        text, block = source.code(leaf.node), block_of(leaf.module, leaf.node)
        return any(
            other.module is leaf.module
            and other.change is leaf.change
            and id(other.node) not in self.waiting
            and source.code(other.node) == text
            and block_of(other.module, other.node) is block
            and self.keeper_of(other) is None
            for other in self.totals.leaves.values()
        )

    def is_equal(self, module: Module, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number that all processes have alike."""
        quantity = self.totals.analysis.of(self.values(node))
        if quantity.kind is not Kind.EQUAL or quantity.pending:
            return False
        return is_simple(node) and self.totals.divergence.cause(module, node) is None

    def is_new_list(self, value: cst.BaseExpression | None) -> bool:
        """Whether an expression is an empty list."""
        if isinstance(value, cst.List):
            return not value.elements
        if not isinstance(value, cst.Call) or value.args:
            return False
        return self.values(value.func) == (External("builtins.list"),)

    def is_new_meter(self, value: cst.BaseExpression | None) -> bool:
        """Whether an expression makes an object of a class of the project."""
        if not isinstance(value, cst.Call):
            return False
        made = self.values(value.func)
        return len(made) == 1 and isinstance(made[0], Class)

    # Where the processes are.

    def is_met_by_all(self, module: Module, statement: cst.CSTNode, loop: Loops) -> bool:
        """Whether all processes come to a statement of a loop, or none does."""
        inner = statement
        for around in ancestors(module, statement):
            if around is loop:
                return inner is loop.body
            if isinstance(around, cst.If) and not self.totals.is_equal(module, around.test):
                return False
            if isinstance(around, (cst.While, cst.Try, cst.TryStar, cst.Match)):
                return False
            inner = around
        return False

    def leaves_alike(self, module: Module, loop: Loops) -> bool:
        """Whether nothing in a loop is passed over by some of the processes alone."""
        return all(
            self.is_met_by_all(module, node, loop)
            for node in descendants(loop.body)
            if isinstance(node, (cst.Break, cst.Continue, cst.Return, cst.Raise))
        )


class Aliases:
    """Follows a list or a meter to what else it is reached by.

    Args:
        keepers: what is known.
        keeper: the variable.
        uses: its uses.
        loop: the loop over which it waits.
        inside: the nodes of the loop.
        is_list: it holds a list.
    """

    def __init__(
        self,
        keepers: Keepers,
        keeper: Keeper,
        uses: Uses,
        loop: Loops,
        inside: set[int],
        *,
        is_list: bool,
    ) -> None:
        self.keepers = keepers
        self.keeper = keeper
        self.module = keeper.module
        self.uses = uses
        self.loop = loop
        self.inside = inside
        self.is_list = is_list

    def reads(self) -> list[cst.Name] | None:
        """The places that read it; None where others may read it later."""
        found: list[cst.Name] = []
        for read in self.uses.reads:
            if self.is_taken_at_once(read) or self.is_given_away(read):
                found.append(read)
                continue
            held = self.held_by(read)
            if held is None:
                return None
            found += held
        return found

    def is_taken_at_once(self, read: cst.Name) -> bool:
        """Whether a place reads what it holds, and keeps nothing of it."""
        source = self.module.source
        parent = source.parent(read)
        if isinstance(parent, cst.Attribute):
            outer = source.parent(parent)
            if isinstance(outer, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.Del)):
                return False
            return not self.is_list or parent.attr.value in READING
        if isinstance(parent, cst.Subscript) and parent.value is read:
            outer = source.parent(parent)
            return not isinstance(outer, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.Del))
        if isinstance(parent, (cst.For, cst.CompFor)) and parent.iter is read:
            return True
        if isinstance(parent, cst.Arg):
            call = source.parent(parent)
            return isinstance(call, cst.Call) and not parent.star and self.only_reads(call)
        return isinstance(
            parent, (cst.FormattedStringExpression, cst.Comparison, cst.BinaryOperation, cst.If)
        )

    def only_reads(self, call: cst.Call) -> bool:
        """Whether a call reads its arguments at once: no code of the project, no container."""
        values = self.keepers.values(call.func)
        for value in values:
            if isinstance(value, External):
                if value.name.startswith(LATER):
                    return False
            elif not isinstance(value, Opaque) or value.name in KEEPING:
                return False
        return bool(values)

    def is_given_away(self, read: cst.Name) -> bool:
        """Whether it is handed on behind the loop, and begins anew before the loop comes again."""
        source = self.module.source
        if id(read) in self.inside or source.span(read).start < source.span(self.loop).start:
            return False
        starts = {id(line) for line in self.uses.starts}
        return all(
            any(id(node) in starts for node in descendants(around))
            for around in loops_around(self.module, self.keeper.owner, self.loop)
        )

    def held_by(self, read: cst.Name) -> list[cst.Name] | None:
        """The uses of an object that is made of it and does nothing but to hold it."""
        source = self.module.source
        element = source.parent(read)
        group = source.parent(element) if isinstance(element, cst.Element) else None
        argument = source.parent(group) if isinstance(group, (cst.List, cst.Tuple)) else element
        call = source.parent(argument) if isinstance(argument, cst.Arg) else None
        made = source.parent(call) if isinstance(call, cst.Call) else None
        if not isinstance(made, cst.Assign) or len(made.targets) != 1:
            return None
        target = made.targets[0].target
        assert isinstance(call, cst.Call)
        classes = self.keepers.values(call.func)
        if not isinstance(target, cst.Name) or not classes or not all(map(only_holds, classes)):
            return None
        uses = uses_of(
            self.module, self.keeper.owner, target.value, lambda *_: None, lambda *_: None
        )
        if uses is None or [statement for statement, _ in uses.settings] != [made]:
            return None
        for each in uses.reads:
            parent = source.parent(each)
            outer = source.parent(parent) if isinstance(parent, cst.Attribute) else None
            if not isinstance(outer, cst.Call) or outer.func is not parent:
                return None
        return uses.reads
