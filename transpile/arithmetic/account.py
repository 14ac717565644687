"""The numbers of a script before and after a conversion, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import libcst as cst

from transpile.arithmetic.formula import Formula, text
from transpile.arithmetic.scenario import Figure, Scenario
from transpile.arithmetic.vocabulary import Vocabulary
from transpile.facts.module import Module
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Rulings

SPLIT_CALLS = (
    "every process draws whole batches; it computes its rows of each call of a split model, one in "
    "as many as there are processes, and receives the outputs of all rows"
)


@dataclass(frozen=True, eq=False)
class Problem:
    """Something that stops the converted script with so many processes.

    Args:
        module: where it is.
        node: the place.
        message: what is wrong.
        advice: what to do.
    """

    module: Module
    node: cst.CSTNode
    message: str
    advice: str


@dataclass(frozen=True, eq=False)
class Account:
    """The numbers of a script.

    Args:
        document: as JSON can hold it.
        problems: what stops the converted script.
    """

    document: dict[str, Any]
    problems: tuple[Problem, ...]


def account(
    plan: Plan, rulings: Rulings, vocabulary: Vocabulary, processes: int, *, converted: bool
) -> Account:
    """The numbers of a script as it is, and as so many processes run its conversion.

    Args:
        plan: what the script is made of.
        rulings: what the conversion does.
        vocabulary: the framework's words.
        processes: how many processes the conversion runs on.
        converted: there is a conversion; otherwise the script's own numbers are all there is.
    """
    before = Scenario(plan, rulings, vocabulary, 1, plan.options)
    splits_calls = plan.way == "calls"
    # Where calls are split, every process draws whole batches and takes every step.
    sharing = 1 if splits_calls else processes
    after = Scenario(plan, rulings, vocabulary, sharing, plan.options)
    problems = tuple(problems_of(after, processes)) if converted else ()
    runs = converted and not problems
    compared = converted and not splits_calls
    others = list(alternatives(plan.options, vocabulary)) if compared else []
    by_option = {
        words: figures_of(scenario)
        for words, options in others
        if not (scenario := Scenario(plan, rulings, vocabulary, processes, options)).indivisible()
    }
    changed = figures_of(after) if runs else {}
    remarks: dict[str, None] = {SPLIT_CALLS: None} if splits_calls and converted else {}
    sections: list[dict[str, Any]] = []
    for figure in before.figures():
        key = (figure.section, figure.quantity)
        now = changed.get(key)
        row: dict[str, Any] = {
            "quantity": figure.quantity,
            "before": written(figure),
            "after": written(now) if now is not None else None,
        }
        row["options"] = {
            words: written(other[key])
            for words, other in by_option.items()
            if key in other and differs(other[key], now) and news(words, key, by_option)
        }
        for shown in (figure, now):
            for line in remarks_of(shown):
                remarks.setdefault(line)
        section = {
            "kind": figure.section.kind,
            "title": figure.section.title,
            "path": figure.section.path,
            "line": figure.section.line,
        }
        if not sections or any(sections[-1][name] != section[name] for name in section):
            sections.append({**section, "figures": []})
        sections[-1]["figures"].append(row)
    document = {
        "processes": processes,
        "converted": converted,
        "sections": sections,
        "problems": [f"{problem.message}; {problem.advice}" for problem in problems],
        "remarks": list(remarks),
    }
    return Account(document, problems)


def figures_of(scenario: Scenario) -> dict[tuple[object, str], Figure]:
    """The figures of a run by section and quantity."""
    return {(figure.section, figure.quantity): figure for figure in scenario.figures()}


def problems_of(scenario: Scenario, processes: int) -> Iterable[Problem]:
    """The batches that so many processes cannot share."""
    for found in scenario.indivisible():
        yield Problem(
            found.loader.event.module,
            found.loader.node,
            f"a batch of {found.batch} samples is not divisible by {processes} processes: the "
            "converted script stops at its start",
            f"the nearest batch that is: {found.nearest}",
        )


def alternatives(options: Options, vocabulary: Vocabulary) -> Iterable[tuple[str, Options]]:
    """The options that change numbers, other than those that were chosen."""
    if options.batch_size == "global":
        other = replaced(options, batch_size="per-device")
        yield "--batch-size per-device", other
    else:
        other = options
        yield "--batch-size global", replaced(options, batch_size="global", scale_lr="none")
    for word in ("none", "linear", "sqrt"):
        if vocabulary.scales and word != other.scale_lr:
            words = f"--scale-lr {word}"
            if options.batch_size == "global":
                words = f"--batch-size per-device {words}"
            yield words, replaced(other, scale_lr=word)
    evaluation = "shard" if options.evaluation == "replicate" else "replicate"
    yield f"--eval {evaluation}", replaced(options, evaluation=evaluation)


def replaced(options: Options, **changes: Any) -> Options:
    """The same options but for some."""
    import dataclasses

    return dataclasses.replace(options, **changes)


def news(
    words: str, key: tuple[object, str], others: dict[str, dict[tuple[object, str], Figure]]
) -> bool:
    """Whether a second option changes what the first one alone does not."""
    first, scale, _ = words.partition(" --scale-lr")
    if not scale or first not in others:
        return True
    alone = others[first].get(key)
    return alone is None or differs(others[words][key], alone)


def differs(figure: Figure, other: Figure | None) -> bool:
    """Whether two figures show something else."""
    return other is None or written(figure) != written(other)


def written(figure: Figure) -> dict[str, Any]:
    """A figure's numbers as plain data: a value where it is known, a formula where it is not."""
    amounts = [amount(each) for each in figure.amounts]
    found: dict[str, Any] = amounts[0] if len(amounts) == 1 else {"list": amounts}
    return {**found, "at_most": True} if figure.at_most else found


def amount(formula: Formula) -> dict[str, Any]:
    """One number as plain data."""
    return {"value": formula.value} if formula.value is not None else {"formula": text(formula)}


def remarks_of(figure: Figure | None) -> Iterable[str]:
    """What there is to say about a figure."""
    if figure is not None:
        for formula in figure.amounts:
            yield from formula.because
        yield from figure.because
