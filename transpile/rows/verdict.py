"""What the runs through a model come to: its samples apart, coupled, or neither shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, Union

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.values import Constant
from transpile.facts.walk import children
from transpile.records import dataclass, replace

from .domain import (
    ONE,
    Choice,
    Coupled,
    Dim,
    Group,
    Known,
    Problem,
    Record,
    Tensor,
    Unknown,
    options,
)
from .run import TOO_MANY, Outcome, Run

#: The first axis of an output that has several rows of each sample: next to each other, or one in
#: each round of all samples.
NEXT_TO_EACH_OTHER, IN_ROUNDS = "samples*steps", "steps*samples"
#: The axis of an output, nested as the outputs are; None for what is whole.
Axes = Union[int, str, None, "tuple[Axes, ...]", "dict[str, Axes]"]
NO_SINGLE_ROW = "an output has no single row for each sample"
NOTHING_FITS = Unknown("no shape of its inputs is found that it takes", cause="layout")


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is shown of a call.

    Args:
        verdict: ``apart``, ``coupled`` or ``check``.
        outputs: the axes of the samples in its outputs.
        problem: what mixes the samples, or what is not known.
        noise: something is drawn at random.
        batch_norm: batch norm takes part.
        agreed: the problem is the same whatever shapes the inputs have.
        possible: the samples are shown to be apart for some shapes of the inputs.
        laws: distributions are among its outputs, which stand for their parameters.
        mixing: for each shape of the inputs that mixes them, the operations that do.
    """

    verdict: Literal["apart", "check", "coupled"]
    outputs: Axes = 0
    problem: Problem | None = None
    noise: bool = False
    batch_norm: bool = False
    agreed: bool = True
    possible: bool = True
    laws: bool = False
    mixing: tuple[tuple[cst.CSTNode | None, ...], ...] = ()


def judged(found: list[Outcome]) -> Judgement:
    """What is shown of a call by runs with all ranks that its inputs may have."""
    if not found:
        return Judgement("check", problem=NOTHING_FITS)
    possible = any(judged_one(one).verdict == "apart" for one in found)
    laws = any(next(families(one.run, one.result), None) is not None for one in found)
    return replace(judged_together(found), possible=possible, laws=laws)


def judged_together(found: list[Outcome]) -> Judgement:
    """What all runs come to."""
    several = [judged_one(one) for one in found]
    if len(several) > 1 and all(one.verdict == "coupled" for one in several[:-1]):
        # Of whatever shape they are: others would hardly be better.
        several = several[:-1] if is_cut_short(found[-1]) else several
    noise = any(one.noise for one in several)
    batch_norm = any(one.batch_norm for one in several)
    coupled = [one for one in several if one.verdict == "coupled"]
    unknown = [one for one in several if one.verdict == "check"]
    if len(coupled) == len(several):
        agreed = len({one.problem for one in coupled}) == 1
        first = coupled[0]
        mixing = tuple(nodes for one in coupled for nodes in one.mixing)
        return Judgement(
            "coupled", first.outputs, first.problem, noise, batch_norm, agreed, mixing=mixing
        )
    if coupled or unknown:
        first = (unknown or coupled)[0]
        return Judgement("check", first.outputs, first.problem, noise, batch_norm)
    if any(one.outputs != several[0].outputs for one in several):
        reason = "along which axis its outputs count the samples depends on the shape of its inputs"
        return Judgement("check", 0, Unknown(reason, cause="layout"), noise, batch_norm)
    return Judgement("apart", several[0].outputs, None, noise, batch_norm)


def is_cut_short(outcome: Outcome) -> bool:
    """Whether an outcome stands for the shapes that were not tried."""
    return isinstance(outcome.result, Unknown) and outcome.result.reason == TOO_MANY


def judged_one(outcome: Outcome) -> Judgement:
    """What is shown by one run."""
    run = outcome.run
    within: list[Problem] = [*state_problems(run), *run.problems, *hook_problems(run)]
    # A distribution that stays within the model needs no rows.
    within = [replace(one, cause="object") if one.cause == "bundle" else one for one in within]
    given = [one for one in run.deep(outcome.result) if isinstance(one, Problem)]
    given.extend(bundles(run, outcome.result))
    problems = sorted([*within, *given], key=lambda one: one.cause != "bundle")
    axes: Axes = 0
    try:
        axes = axes_of(run, outcome.result)
    except ValueError as error:
        problems.append(Coupled(str(error), *run.site, cause="layout"))
    for kind, verdict in ((Coupled, "coupled"), (Unknown, "check")):
        for problem in problems:
            if isinstance(problem, kind):
                mixing = tuple(one.node for one in problems if is_mixing(one))
                return Judgement(
                    verdict,  # type: ignore[arg-type]
                    axes,
                    problem,
                    run.noise,
                    run.batch_norm,
                    mixing=(mixing,) if mixing else (),
                )
    return Judgement("apart", axes, None, run.noise, run.batch_norm)


def bundles(run: Run, value: Known) -> list[Unknown]:
    """The objects in a result that hold tensors and can be put together of no rows."""
    return [
        Unknown(f"it gives an object of '{one.family}', which has no rows", *run.site, "bundle")
        for one in families(run, value)
        if not one.remade
    ]


def families(run: Run, value: Known, depth: int = 0) -> Iterator[Record]:
    """The objects in a result that hold tensors and have no rows themselves."""
    for one in options(value) if depth < 8 else ():
        held = run.held(run.settle(one))
        if isinstance(held, Record) and held.family:
            yield held
            continue
        parts = [*held.elements] if isinstance(held, Group) else []
        parts += [entry for _, entry in held.entries] if isinstance(held, Record) else []
        rest = held.rest if isinstance(held, (Group, Record)) else None
        for each in (*parts, *((rest,) if rest is not None else ())):
            yield from families(run, each, depth + 1)


def is_mixing(problem: Problem) -> bool:
    """Whether a problem is an operation on several samples, not the shape of an output."""
    return isinstance(problem, Coupled) and problem.cause != "layout"


def axes_of(run: Run, value: Known) -> Axes:
    """The axes of the samples in a result.

    Raises:
        ValueError: it has no row for each sample.
    """
    found = [axes_of_one(run, run.held(run.settle(one))) for one in options(value)]
    kept = [axes for one, axes in zip(options(value), found, strict=True) if one != Constant(None)]
    if not kept:
        return None
    found_axes = kept[0]
    for one in kept[1:]:
        found_axes = joined(found_axes, one)
    return found_axes


def joined(one: Axes, other: Axes) -> Axes:
    """The axes of outputs that are now nested in one way, now in another.

    One axis stands for all that is nested below it: a tensor, or a tuple of such tensors.

    Raises:
        ValueError: they have their samples along different axes.
    """
    if one == other:
        return one
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(joined(first, second) for first, second in zip(one, other, strict=True))
    for single, nested in ((one, other), (other, one)):
        if isinstance(single, int) and isinstance(nested, tuple) and nested:
            if all(joined(single, each) == single for each in nested):
                return single
    raise ValueError("its outputs are now of one shape, now of another")


def axes_of_one(run: Run, value: Known) -> Axes:
    """The same for one alternative."""
    if isinstance(value, Tensor):
        at = value.axis
        if at is None:
            return None
        assert value.dims is not None
        if value.places:
            raise ValueError("its outputs tell where in the batch a sample stands")
        return at if value.dims[at].plain else several_rows(at, value.dims[at])
    if isinstance(value, Group):
        if value.rest is not None:
            rest = axes_of(run, value.rest)
            every = {str(axes_of(run, one)) for one in value.elements} | {str(rest)}
            if len(every) > 1:
                raise ValueError("how many outputs there are is not known")
            return (rest,)
        return tuple(axes_of(run, one) for one in value.elements)
    if isinstance(value, Record) and value.family:
        found = [axes_of(run, one) for _, one in value.entries]
        if any(one != found[0] for one in found):
            raise ValueError("what a distribution among its outputs holds has no common rows")
        return found[0] if found else None
    if isinstance(value, Record) and value.ordered:
        return tuple(axes_of(run, one) for _, one in value.entries)
    if isinstance(value, Record):
        return {str(key): axes_of(run, one) for key, one in value.entries}
    if isinstance(value, Choice):
        return axes_of(run, value)
    return None


def several_rows(at: int, dim: Dim) -> str:
    """How an axis holds several rows of each sample.

    Raises:
        ValueError: it does so in a way that no call can be split along.
    """
    if at == 0 and dim.outer == ONE and dim.size is not None and not dim.doubt:
        return NEXT_TO_EACH_OTHER
    if at == 0 and dim.outer is not None and dim.size == ONE:
        return IN_ROUNDS
    raise ValueError(NO_SINGLE_ROW)


def has_several_rows(axes: Axes) -> bool:
    """Whether some output has several rows of each sample."""
    inside = axes.values() if isinstance(axes, dict) else axes if isinstance(axes, tuple) else ()
    return isinstance(axes, str) or any(map(has_several_rows, inside))


def state_problems(run: Run) -> list[Problem]:
    """What is kept of the samples behind a call."""
    found: list[Problem] = []
    for key, value in run.written.items():
        word = run.words.get(key, key[1])
        module, node = run.written_at.get(key, (None, None))
        counted = any(getattr(one, "counted", False) for one in run.deep(value))
        if not run.sampled(value) and not counted:
            continue
        if key in run.read_before:
            found.append(Coupled(f"'{word}' keeps something of the samples", module, node, "state"))
        elif is_read_elsewhere(run, word):
            found.append(
                Coupled(f"'{word}' hands samples on beside the outputs", module, node, "beside")
            )
    return found


#: Methods after which other code sees what a layer is given or gives, and may change it.
HOOKS = frozenset(
    {
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_module_forward_hook",
        "register_module_forward_pre_hook",
    }
)


def hook_problems(run: Run) -> list[Problem]:
    """Hooks, which may change what layers give."""
    found = hook(run.facts)
    return [found] if found is not None else []


def hook(facts: Facts) -> Unknown | None:
    """The first hook that sees what a layer is given or gives."""
    found = [
        (event, word)
        for word in sorted(HOOKS & facts.calls_by_word.keys())
        for event in facts.calls_by_word[word][:1]
    ]
    if not found:
        return None
    event, word = min(found, key=lambda one: one[0].order)
    return Unknown(f"'{word}' lets other code change what a layer gives", event.module, event.node)


#: Words of code that reads attributes by their names as strings.
BY_NAME = re.compile(r"\b(getattr|vars|attrgetter|__dict__)\b")


def is_read_elsewhere(run: Run, word: str) -> bool:
    """Whether an attribute is read outside of the code that was followed."""
    read = re.compile(rf"\.{re.escape(word)}\b(?!\s*=[^=])")
    quoted = re.compile(rf"[\"']{re.escape(word)}[\"']")
    total = 0
    for module in run.facts.modules.values():
        text = module.source.text
        if BY_NAME.search(text) and quoted.search(text):
            return True
        total += len(read.findall(text))
    return total > reads_within(run, word)


def reads_within(run: Run, word: str) -> int:
    """How often an attribute is read in the code that was followed."""
    within = 0
    seen: set[int] = set()
    for function in run.functions.values():
        pending: list[cst.CSTNode] = [function.node]
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, cst.Attribute) and node.attr.value == word:
                within += 1
            if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Attribute):
                within -= node.target.attr.value == word
            pending.extend(children(node))
    return within
