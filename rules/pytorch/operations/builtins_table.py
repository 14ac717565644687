"""Python's own functions and the methods of lists and dicts, within models."""

from __future__ import annotations

import libcst as cst

from transpile.facts.names import ANYTHING, may_be_one, names_of
from transpile.facts.values import Class, Constant, External, Instance
from transpile.rows.bound import number_of
from transpile.rows.domain import (
    NONE,
    PLAIN,
    Cell,
    Group,
    Held,
    Known,
    Local,
    Method,
    Number,
    Record,
    Tensor,
    choice,
    options,
)
from transpile.rows.shapes import Mixed
from transpile.rows.state import Given, Running

MOST = 128
KIND_NAMES = {
    "builtins.list": Group, "builtins.tuple": Group, "builtins.dict": Record,
    "torch.Tensor": Tensor, "torch.FloatTensor": Tensor, "collections.abc.Sequence": Group,
    "collections.abc.Mapping": Record, "typing.Sequence": Group,
}  # fmt: skip
NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.bool"})


def call_builtin(run: Running, word: str, given: Given) -> Known | None:
    """What a builtin function gives; None where nothing is known."""
    items = given.items
    first = items[0] if items else NONE
    if word == "isinstance" and len(items) == 2:
        return instance_of(run, first, items[1])
    if word == "len":
        return run.apply(lambda one: length(run, one), first)
    if word == "range":
        return counted(run, items)
    if word in ("list", "tuple", "iter", "sorted", "set", "reversed"):
        elements, rest = run.elements_of(first) if items else ([], None)
        if word in ("sorted", "set") and any(run.sampled(one) for one in elements):
            raise Mixed(f"'{word}' depends on the values of the samples")
        if word == "reversed":
            elements = elements[::-1]
        group = Group(tuple(elements), rest)
        return run.cell(run.site[1], group) if word == "list" else group
    if word == "enumerate":
        elements, rest = run.elements_of(first)
        found = tuple(Group((Constant(place), one)) for place, one in enumerate(elements))
        return Group(found, Group((PLAIN, rest)) if rest is not None else None)
    if word == "zip":
        return zipped(run, items)
    if word == "dict":
        held = run.held(first) if items else Record(())
        if not isinstance(held, Record):
            return held
        entries: dict[object, Known] = dict(held.entries)
        for key, one in given.keywords.items():
            entries[key] = one
        return run.cell(run.site[1], Record(tuple(entries.items()), held.rest))
    if word in ("getattr", "hasattr"):
        return attribute(run, word, given)
    if word == "sum":
        elements, rest = run.elements_of(first)
        total: Known = items[1] if len(items) > 1 else Constant(0)
        for one in [*elements, *([rest, rest] if rest is not None else [])]:
            total = run.apply(lambda a, b: run.library.operator(run, "Add", (a, b)), total, one)
        return total
    if word in ("max", "min", "abs", "round", "pow", "float", "int", "bool", "divmod", "complex"):
        return numeric(run, word, given)
    if word == "map" and len(items) == 2:
        elements, rest = run.elements_of(items[1])
        made = tuple(run.call(first, Given((one,))) for one in elements)
        return Group(made, run.call(first, Given((rest,))) if rest is not None else None)
    if word in ("all", "any"):
        elements, rest = run.elements_of(first)
        if any(run.sampled(one) for one in [*elements, *([rest] if rest is not None else [])]):
            raise Mixed("what is done depends on the values of the samples")
        return PLAIN
    if word in ("print", "str", "repr", "format"):
        if any(run.sampled(one) for one in given.every()):
            if word == "print":
                run.problems.append(run.unknown("values of samples are printed", "print"))
                return NONE
            raise Mixed("the samples are made a text")
        return PLAIN
    if word in ("type", "id", "callable", "hash", "super", "slice", "issubclass", "object"):
        return PLAIN
    if word == "next":
        elements, rest = run.elements_of(first)
        return (
            choice(*elements, *([rest] if rest is not None else [])) if elements or rest else PLAIN
        )
    return None


def instance_of(run: Running, value: Known, classes: Known) -> Known:
    """``isinstance(value, classes)``."""
    names: list[str] = []
    for option in options(classes):
        held = run.held(option)
        parts = held.elements if isinstance(held, Group) else (held,)
        for part in parts:
            for one in part.values if isinstance(part, Held) else ():
                names.append(one.name if isinstance(one, (External, Class)) else "?")
    verdicts: set[bool | None] = set()
    for option in options(value):
        held = run.held(run.settle(option))
        if isinstance(held, Held) or "?" in names or not names:
            verdicts.add(None)
        elif isinstance(held, Constant):
            kind = f"builtins.{type(held.value).__name__}"
            verdicts.add(kind in names)
        elif isinstance(held, Number):
            verdicts.add(True if NUMBERS & set(names) and held.size is not None else None)
        else:
            is_tuple = isinstance(held, Record) and held.ordered
            kind_of = Group if is_tuple else type(held)
            verdicts.add(any(KIND_NAMES.get(name) is kind_of for name in names))
    return Constant(verdicts.pop()) if len(verdicts) == 1 and None not in verdicts else PLAIN


def length(run: Running, value: Known) -> Known:
    """``len(value)``."""
    held = run.held(value)
    if isinstance(held, Group):
        return Constant(len(held.elements)) if held.rest is None else PLAIN
    if isinstance(held, Record):
        return Constant(len(held.entries)) if held.rest is None else PLAIN
    if isinstance(held, Tensor):
        return run.library.method(run, held, "__len__", Given()) or PLAIN
    if isinstance(held, Held):
        elements, rest = run.elements_of(held)
        return Constant(len(elements)) if rest is None and elements else PLAIN
    return PLAIN


def counted(run: Running, items: tuple[Known, ...]) -> Known:
    """``range(...)``."""
    numbers = [
        one.value for one in items if isinstance(one, Constant) and isinstance(one.value, int)
    ]
    if len(numbers) == len(items) and numbers:
        found = range(*numbers)
        if len(found) <= MOST:
            return Group(tuple(Constant(one) for one in found))
        return Group((), PLAIN)
    if any(run.sampled(one) for one in items):
        raise Mixed("how often something is done depends on the values of the samples")
    every = [number_of(one) for one in items]
    by_samples = any(one.samples or one.counted for one in every)
    return Group((), Number(counted=by_samples, drawn=any(one.drawn for one in every)))


def zipped(run: Running, items: tuple[Known, ...]) -> Known:
    """``zip(...)``."""
    columns = [run.elements_of(one) for one in items]
    if all(rest is None for _, rest in columns):
        rows = zip(*(elements for elements, _ in columns), strict=False)
        return Group(tuple(Group(row) for row in rows))
    whole = [choice(*elements, *([rest] if rest is not None else [])) for elements, rest in columns]
    return Group((), Group(tuple(whole)))


def attribute(run: Running, word: str, given: Given) -> Known:
    """``getattr`` and ``hasattr``."""
    base, name = given.items[0], given.items[1]
    if word == "hasattr":
        return PLAIN
    if not isinstance(name, Constant):
        found: list[Known] = []
        written = written_names(run)
        for value in base.values if isinstance(base, Held) else ():
            if isinstance(value, Instance):
                alike = [
                    values
                    for word, values in value.attributes.items()
                    if any(may_be_one(word, name) for name in written)
                ]
                found.extend(run.lift(values) for values in alike)
        layers = [one for one in found if isinstance(one, Held)]
        return choice(*layers) if layers else run.unknown("which attribute is read is not known")
    found_one = run.attribute(base, str(name.value))
    if isinstance(found_one, Method) and len(given.items) > 2:
        return given.items[2]
    return found_one


def written_names(run: Running) -> list[str]:
    """What the name may be that ``getattr`` is given in the call that is looked at."""
    call = run.site[1]
    if not isinstance(call, cst.Call) or len(call.args) < 2:
        return [ANYTHING]
    return names_of(run.facts.values_of(call.args[1].value))


def numeric(run: Running, word: str, given: Given) -> Known:
    """Functions of numbers."""
    if word in ("max", "min") and len(given.items) == 1:
        elements, rest = run.elements_of(given.items[0])
        if any(run.sampled(one) for one in [*elements, *([rest] if rest is not None else [])]):
            raise Mixed("what is done depends on the values of the samples")
        return PLAIN
    tensors = [one for one in given.items if isinstance(run.settle(one), Tensor)]
    if tensors and word in ("abs", "pow", "round"):
        return run.apply(lambda *values: run.library.operator(run, "Power", values), *given.items)
    if any(run.sampled(one) for one in given.items):
        raise Mixed(f"'{word}' takes the values of all samples out of the tensor")
    if word == "int" and len(given.items) == 1 and isinstance(given.items[0], (Number, Constant)):
        value = given.items[0]
        if isinstance(value, Constant) and isinstance(value.value, (int, float)):
            return Constant(int(value.value))
        return value
    numbers = [number_of(one) for one in given.items]
    settled = [run.settle(one) for one in given.items]
    if word in ("max", "min") and all(isinstance(one, Constant) for one in given.items):
        values = [one.value for one in given.items if isinstance(one, Constant)]
        if all(isinstance(one, (int, float)) for one in values):
            return Constant((max if word == "max" else min)(values))  # type: ignore[type-var]
    return Number(
        counted=any(one.counted or one.samples for one in numbers),
        drawn=any(one.drawn for one in numbers)
        or any(isinstance(one, Tensor) and one.drawn for one in settled),
    )


def container_method(run: Running, base: Known, word: str, given: Given) -> Known | None:
    """Methods of lists, tuples and dicts."""
    held = run.held(base)
    first = given.items[0] if given.items else NONE
    if isinstance(held, Record):
        return dict_method(run, base, held, word, given)
    if not isinstance(held, Group):
        return None
    if word in ("append", "insert", "extend", "add"):
        if not isinstance(base, Cell):
            return kept_behind(run, given)
        if word == "extend":
            elements, rest = run.elements_of(first)
        else:
            elements, rest = [given.items[-1]], None
        if held.rest is None and word != "insert":
            run.heap[base] = Group((*held.elements, *elements), rest)
        elif held.rest is None and word == "insert" and first == Constant(0):
            run.heap[base] = Group((*elements, *held.elements))
        else:
            more = [one for one in (held.rest, rest) if one is not None]
            run.heap[base] = Group((), choice(*held.elements, *elements, *more))
        return NONE
    every = [*held.elements, *([held.rest] if held.rest is not None else [])]
    if word == "pop":
        if held.rest is None and held.elements and isinstance(base, Cell):
            place = first.value if isinstance(first, Constant) and given.items else -1
            if isinstance(place, int) and -len(held.elements) <= place < len(held.elements):
                elements = list(held.elements)
                popped = elements.pop(place)
                run.heap[base] = Group(tuple(elements))
                return popped
        return choice(*every) if every else PLAIN
    if word == "reverse" and isinstance(base, Cell):
        run.heap[base] = Group(held.elements[::-1], held.rest)
        return NONE
    if word in ("copy", "__iter__"):
        return held
    if word in ("sort",):
        return None
    if word in ("index", "count", "numel", "clear"):
        return PLAIN
    return None


def kept_behind(run: Running, given: Given) -> Known:
    """What is put into a list or dict that was there before the call, and is there behind it."""
    if any(run.sampled(one) for one in given.every()):
        run.problems.append(
            run.coupled("samples are kept in an object that outlives the call", "state")
        )
    return NONE


def dict_method(run: Running, base: Known, held: Record, word: str, given: Given) -> Known | None:
    """Methods of dicts."""
    first = given.items[0] if given.items else NONE
    rest = [held.rest] if held.rest is not None else []
    if word in ("get", "pop", "setdefault"):
        default = given.items[1] if len(given.items) > 1 else NONE
        if isinstance(first, Constant):
            found = held.get(first.value)
            if found is not None:
                return found
            return choice(default, *rest)
        return choice(default, *(value for _, value in held.entries), *rest)
    if word == "keys":
        return Group(tuple(Constant(key) for key, _ in held.entries), PLAIN if rest else None)
    if word == "values":
        return Group(tuple(value for _, value in held.entries), held.rest)
    if word == "items":
        found_items = tuple(Group((Constant(key), value)) for key, value in held.entries)
        return Group(found_items, Group((PLAIN, *rest)) if rest else None)
    if word in ("update", "setdefault", "pop") and not isinstance(base, Cell):
        return kept_behind(run, given)
    if word == "update" and isinstance(base, Cell):
        other = run.held(first)
        entries = dict(held.entries)
        if isinstance(other, Record):
            entries.update(other.entries)
        entries.update(given.keywords)
        run.heap[base] = Record(tuple(entries.items()), held.rest)
        return NONE
    if word in ("copy", "to", "to_tuple"):
        return held
    return None


__all__ = ["Local", "Method", "call_builtin", "container_method"]
