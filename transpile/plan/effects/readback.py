"""Files that every process reads after one process has written them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.plan.effects.effect_names import DIRECTORIES, REMOVALS
from transpile.plan.effects.effects import Effect, Kind, Vocabulary
from transpile.plan.effects.file_reads import path_read, receivers
from transpile.plan.effects.folders import lists_folder_of
from transpile.plan.effects.handed_paths import differing, handed_path, share_a_call
from transpile.plan.effects.treatment import Once
from transpile.plan.effects.waiting_places import is_left_to_one_call, place_of, share_loop
from transpile.plan.flow.places import blocks_around, function_of
from transpile.plan.graph import called_names, walk_back
from transpile.records import dataclass

#: Writing functions whose path is not their first argument: keyword and position.
PATHS = {
    "shutil.copy": ("dst", 1),
    "shutil.copy2": ("dst", 1),
    "shutil.copyfile": ("dst", 1),
    "shutil.copytree": ("dst", 1),
    "shutil.move": ("dst", 1),
    "os.rename": ("dst", 1),
    "os.replace": ("dst", 1),
    "joblib.dump": ("filename", 1),
    "cv2.imwrite": ("filename", 0),
}
#: Calls that make a place for one process alone.
PRIVATE = (
    "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.NamedTemporaryFile",
    "tempfile.TemporaryDirectory", "tempfile.TemporaryFile", "io.BytesIO", "io.StringIO",
)  # fmt: skip
#: How far two values are compared.
DEEPEST = 8


@dataclass(frozen=True, eq=False)
class ReadBack:
    """A place at which every process must wait for the one that writes.

    Args:
        module: where it is.
        statement: the statement before which to wait.
        read: what reads.
        write: what has written.
        waits: a barrier is there already.
        differs: the call that makes the path another one in each process.
        target: the path that is written to.
    """

    module: Module
    statement: cst.CSTNode
    read: Event
    write: Effect
    waits: bool = False
    differs: str = ""
    target: Values = ()


def find_read_backs(once: Once, vocabulary: Vocabulary) -> list[ReadBack]:
    """Where files are read back, each place once, in the order of the run."""
    found: list[ReadBack] = []
    for effect, write, target, read in pairs(once, vocabulary):
        place = place_of(once, write, read)
        if place is None or any(settles(once, earlier, write, read) for earlier in found):
            continue
        module, statement = place
        waits = waited_for(once, write, read)
        differs = next((name for name, _ in differing(target)), "")
        found.append(ReadBack(module, statement, read, effect, waits, differs, target))
    return found


def find_unplaced(once: Once, vocabulary: Vocabulary) -> list[tuple[Effect, Event]]:
    """What is written and read back by functions that one call enters, with no place to wait."""
    placed = find_read_backs(once, vocabulary)
    found = {
        id(read.node): (effect, read)
        for effect, write, _, read in pairs(once, vocabulary)
        if is_left_to_one_call(write, read) and place_of(once, write, read) is None
        if not any(settles(once, earlier, write, read) for earlier in placed)
        if not waited_for(once, write, read)
    }
    return list(found.values())


def pairs(once: Once, vocabulary: Vocabulary) -> Iterator[tuple[Effect, Event, Values, Event]]:
    """What one process writes, with the path, and what every process may read of it."""
    writes = list(written(once, vocabulary))
    if not writes:
        return
    for read, path in reads(once, vocabulary):
        for effect, write, target in writes:
            if follows(read, write) and may_match(once, vocabulary, effect, target, read, path):
                yield effect, write, target, read


def waited_for(once: Once, write: Event, read: Event) -> bool:
    """Whether a barrier stands between a write and a read already."""
    return any(is_between(barrier, write, read) for barrier in barriers(once))


def written(once: Once, vocabulary: Vocabulary) -> Iterator[tuple[Effect, Event, Values]]:
    """What one process writes, with the path."""
    for effect in once.effects.values():
        if effect.kind not in (Kind.WRITE, Kind.OPEN, Kind.CONTAINER, Kind.PROCESS):
            continue
        if id(effect.node) in once.prepared or id(effect.node) in once.private:
            continue
        if id(effect.node) in once.idle or effect.word in REMOVALS:
            continue
        for event in effect.events:
            if not event.detached:
                yield effect, event, path_written(effect, event, vocabulary)


def path_written(effect: Effect, event: Event, vocabulary: Vocabulary) -> Values:
    """The path that a call writes to; empty where it is not known."""
    keyword, position = PATHS.get(effect.word) or vocabulary.paths.get(effect.word, ("", 0))
    argument = event.arguments.get(keyword, position)
    if isinstance(effect.node.func, cst.Attribute) and effect.word in (
        "mkdir()", "write_text()", "write_bytes()", "open()", "touch()",
    ):  # fmt: skip
        return receivers(event)
    return argument.values if argument is not None else ()


def reads(once: Once, vocabulary: Vocabulary) -> Iterator[tuple[Event, Values]]:
    """What every process reads, with the path."""
    guarded = {id(statement) for run in once.runs for statement in run.statements}
    # Arguments that get a name before the guard are evaluated by all.
    bound = {id(node) for run in once.runs for node in run.bound}
    for event in once.plan.facts.reached_calls:
        path = path_of(once, event, vocabulary)
        if path is None or once.ranks.some_ranks(event) or once.ranks.in_turn(event.stack):
            continue
        if matters_to_some_ranks(once, event):
            continue
        around = [id(node) for node in (event.node, *places_of(event))]
        if guarded.isdisjoint(around) or not bound.isdisjoint(around):
            yield event, path


def matters_to_some_ranks(once: Once, event: Event) -> bool:
    """Whether a test uses what is read on some ranks only, as ``exists(path) and rank == 0``."""
    inner: cst.CSTNode = event.node
    for outer in event.module.source.parents(event.node):
        if isinstance(outer, cst.BooleanOperation) and isinstance(outer.operator, cst.And):
            other = outer.right if inner is outer.left else outer.left
            if once.ranks.tests_rank(other):
                return True
        elif not isinstance(outer, (cst.UnaryOperation, cst.BooleanOperation)):
            return False
        inner = outer
    return False


def path_of(once: Once, event: Event, vocabulary: Vocabulary) -> Values | None:
    """The path that a call reads, or that it needs the folder of; None for other calls."""
    if id(event.node) in once.effects:
        return None
    path = path_read(event, vocabulary)
    return path if path is not None else handed_path(once.plan, event) or None


def places_of(event: Event) -> Iterator[cst.CSTNode]:
    """What an event stands in, in the text and through calls."""
    yield from event.module.source.parents(event.node)
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is not None:
            yield from frame.module.source.parents(frame.node)


def follows(read: Event, write: Event) -> bool:
    """Whether a read may come after a write: later, or in the next round of a loop."""
    if read.order > write.order:
        return True
    return share_loop(read, write)


def is_private(effect: Effect, vocabulary: Vocabulary) -> bool:
    """Whether a call writes to a place that one process alone has."""
    return all(
        comes_from(path_written(effect, event, vocabulary), PRIVATE) for event in effect.events
    )


def may_match(
    once: Once,
    vocabulary: Vocabulary,
    effect: Effect,
    target: Values,
    read: Event,
    path: Values,
) -> bool:
    """Whether a file that is read may be the one that was written."""
    if effect.word in DIRECTORIES and not path:
        return not read.module.is_entry
    if effect.kind is Kind.PROCESS:
        # What another program writes is not seen: files read right behind it may be its.
        return read.order > effect.event.order and read.function() is effect.event.function()
    if any(same(first, second, DEEPEST) for first in target for second in path):
        return True
    if handed_path(once.plan, read):
        return share_a_call(target, path)
    if lists_folder_of(read, path, target):
        return read.order > effect.event.order
    if effect.word in vocabulary.saves and any(
        isinstance(callee, External) and callee.name in vocabulary.loads for callee in read.callee
    ):
        # Checkpoints find each other by other ways, too: only two known names tell them apart.
        known = all(isinstance(value, Constant) for value in (*target, *path))
        return read.order > effect.event.order and not (known and target and path)
    return False


def same(first: Value, second: Value, depth: int) -> bool:
    """Whether two values are made in the same way."""
    if first is second:
        return True
    if isinstance(first, (Constant, External)) or isinstance(second, (Constant, External)):
        return first == second and first != Constant(None)
    if not isinstance(first, Opaque) or not isinstance(second, Opaque) or depth == 0:
        return False
    if (first.kind, first.name) != (second.kind, second.name) or first.kind == "parameter":
        return False
    if first.kind == "element":
        return False
    if first.name == "format" and code(first) != code(second):
        return False
    pairs = list(zip(first.operands, second.operands, strict=False))
    pairs.append((first.callee, second.callee))
    given, other = first.arguments.items, second.arguments.items
    if len(first.operands) != len(second.operands) or len(given) != len(other):
        return False
    pairs.extend((one.values, two.values) for one, two in zip(given, other, strict=True))
    if first.kind == "item":
        pairs.append((first.index, second.index))
    return all(
        (not ones and not twos) or any(same(one, two, depth - 1) for one in ones for two in twos)
        for ones, twos in pairs
    )


def code(value: Opaque) -> str:
    """The text that makes a value."""
    return value.module.source.code(value.node)


def settles(once: Once, earlier: ReadBack, write: Event, read: Event) -> bool:
    """Whether a barrier that was found necessary before a former read serves this one, too."""
    if not earlier.read.order <= read.order:
        return False
    if write.order < read.order and not write.order < earlier.read.order:
        return False
    if is_before_both(earlier, write, read):
        return False
    source = earlier.module.source
    around = {id(block) for block in blocks_around(earlier.module, site_in(earlier, read))}
    parent = source.parent(earlier.statement)
    if isinstance(parent, cst.SimpleStatementLine):
        parent = source.parent(parent)
    return id(parent) in around


def is_before_both(earlier: ReadBack, write: Event, read: Event) -> bool:
    """Whether a barrier stands before the statement that writes and then reads.

    Where the write comes behind the read, they do so in two rounds of a loop: the barrier serves
    the read if it is in a loop around both, too.
    """
    places = [id(one) for one in places_of(read)]
    if id(earlier.statement) not in places:
        return False
    if write.order < read.order:
        return any(one is earlier.statement for one in places_of(write))
    around = places[places.index(id(earlier.statement)) + 1 :]
    loops = {id(loop.node) for loop in write.loops()}
    return not any(id(loop.node) in loops and id(loop.node) in around for loop in read.loops())


def site_in(earlier: ReadBack, read: Event) -> cst.CSTNode:
    """Where a read happens, as seen from the scope of an earlier one."""
    node: cst.CSTNode = read.node
    module = read.module
    frames = [frame for frame in read.stack if isinstance(frame, Call)]
    while frames and not within_scope(earlier, module, node):
        frame = frames.pop()
        if frame.node is None:
            break
        node, module = frame.node, frame.module
    return node if module is earlier.module else earlier.read.node


def within_scope(earlier: ReadBack, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node stands in the function around an earlier read's statement."""
    return module is earlier.module and function_of(module, node) is function_of(
        module, earlier.statement
    )


def barriers(once: Once) -> Iterator[Event]:
    """The barriers that every process comes to at the same time."""
    for event in once.plan.facts.calls:
        if once.ranks.is_barrier(event):
            if not any(call.function.is_generator for call in event.calls()):
                yield event


def is_between(barrier: Event, write: Event, read: Event) -> bool:
    """Whether a barrier comes between a write and a read."""
    if write.order < read.order:
        return write.order < barrier.order < read.order
    loops = {id(frame.node) for frame in read.stack if isinstance(frame, Loop)}
    return barrier.order < read.order and any(id(loop.node) in loops for loop in barrier.loops())


def comes_from(values: Values, names: tuple[str, ...]) -> str:
    """The call below one of the dotted prefixes that values are made by; empty where none is."""
    for value in walk_back(values, lambda value: isinstance(value, Opaque)):
        for name in called_names(value):
            if name.startswith(names):
                return name
    return ""
