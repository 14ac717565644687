"""One run through the code of a model, and what it says of the samples."""

from __future__ import annotations

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import Function, Value

from .calls import Calls
from .domain import Held, Input, Known, Unknown
from .shapes import Impossible
from .state import Frame, Given, Library, NeedsRank, TooLong

#: The ranks of inputs that are tried.
RANKS = (1, 2, 3, 4, 5)
#: Runs with other ranks of the inputs after which no more are tried.
MOST_RUNS = 60
TOO_MANY = "its inputs may be of too many shapes"


class Run(Calls):
    """One run, with the ranks of its inputs supposed."""

    def __init__(
        self, facts: Facts, library: Library, call_method: str, ranks: dict[str, int]
    ) -> None:
        super().__init__(facts, library, call_method, ranks)
        self.call_method_word = call_method

    def library_elements(self, value: Value) -> tuple[list[Known], Known | None] | None:
        """The layers in a container of layers."""
        return self.library.elements(self, value)

    def follow(self, model: Value, given: Given, module: Module, node: cst.CSTNode) -> Known:
        """What a call of a model gives."""
        self.sites.append((module, node))
        outside = Function(cst.Lambda(cst.Parameters(), cst.Name("None")), module, "", None, {})  # type: ignore[arg-type]
        self.frame = Frame({}, outside)
        found = self.call(Held((model,)), given)
        # An input that is given back as it came must have a rank, too.
        list(self.deep(found))
        return found


class Outcome:
    """What a run with certain ranks has found.

    Args:
        ranks: the ranks.
        result: what the call gives.
        run: the run.
    """

    def __init__(self, ranks: dict[str, int], result: Known, run: Run) -> None:
        self.ranks = ranks
        self.result = result
        self.run = run


def outcomes(
    facts: Facts,
    library: Library,
    call_method: str,
    model: Value,
    given: Given,
    site: tuple[Module, cst.CSTNode],
    known: dict[str, int] | None = None,
) -> list[Outcome]:
    """What a call of a model gives, for all ranks of its inputs for which it does not fail.

    Of some inputs they may be known.
    """
    pending: list[dict[str, int]] = [dict(known or {})]
    found: list[Outcome] = []
    runs = 0
    while pending:
        ranks = pending.pop(0)
        runs += 1
        if runs > MOST_RUNS:
            run = Run(facts, library, call_method, ranks)
            found.append(Outcome(ranks, Unknown(TOO_MANY, *site, "layout"), run))
            break
        kept: dict[tuple[int, str], Known] = {}
        written: dict[tuple[int, str], Known] = {}
        try:
            for _ in range(3):
                run = Run(facts, library, call_method, ranks)
                run.kept, run.written = kept, dict(written)
                result = run.follow(model, given, *site)
                if run.written == written:
                    break
                written, kept = run.written, dict(run.written)
            found.append(Outcome(ranks, result, run))
        except NeedsRank as needs:
            least = axis_of(given, needs.name) + 1
            # What meets element by element most often has as many axes as what it meets.
            likely = sorted(RANKS, key=lambda rank: rank not in ranks.values())
            more = [{**ranks, needs.name: rank} for rank in likely if rank >= least]
            pending = [*more, *pending]
        except Impossible:
            continue
        except (TooLong, RecursionError):
            reason = "it is too large to be followed"
            found.append(Outcome(ranks, Unknown(reason, *site, "layout"), run))
    return found


def axis_of(given: Given, name: str) -> int:
    """The axis of the samples of an input, or of a part of it."""
    pending = list(given.every())
    while pending:
        value = pending.pop()
        if isinstance(value, Input) and f"{name}.".startswith(f"{value.name}."):
            return value.axis
        pending.extend(getattr(value, "elements", ()))
        pending.extend(entry for _, entry in getattr(value, "entries", ()))
        pending.extend(getattr(value, "options", ()))
        rest = getattr(value, "rest", None)
        if rest is not None:
            pending.append(rest)
    return 0
