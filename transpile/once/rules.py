"""The rules about effects, which are the same in every framework but for a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import Template
from types import ModuleType

from transpile.once import (
    log_once,
    open_once,
    prepare_once,
    print_once,
    progress_once,
    track_once,
    write_once,
)
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Rule

SHARED = (
    log_once,
    open_once,
    prepare_once,
    print_once,
    progress_once,
    track_once,
    write_once,
)


@dataclass(frozen=True)
class Words:
    """What the manuals say in the words of a framework.

    Args:
        saver: the function that saves.
        saving: a line that saves a model.
        saving_source: where saving in several processes is documented.
        preparing: a line that downloads data.
        preparing_source: where that is documented.
        tracker: a class whose objects record an experiment.
        tracker_source: where that is documented.
        batches: what a training loop goes over.
        rank_source: where the number of a process is documented.
    """

    saver: str
    saving: str
    saving_source: str
    preparing: str
    preparing_source: str
    tracker: str
    tracker_source: str
    batches: str
    rank_source: str


def once_rules(
    framework: str,
    prefix: str,
    words: Words,
    once_of: Callable[[Plan], Once],
    without: Iterable[ModuleType] = (),
    amend: Callable[[Plan, Answer], Answer] = lambda plan, answer: answer,
) -> tuple[Rule, ...]:
    """The rules of one framework.

    Args:
        framework: its name.
        prefix: that of its codes.
        words: what the manuals say.
        once_of: finds what is decided about the effects of a script, with the framework's own.
        without: what the framework does in a way of its own.
        amend: what an answer is where the framework knows more.
    """
    said = {name: getattr(words, name) for name in Words.__annotations__}
    left_out = tuple(without)
    return tuple(
        Rule(
            name=module.__name__.rpartition(".")[2].replace("_", "-"),
            codes={f"{prefix}{number}": title for number, title in module.CODES.items()},
            decide=deciding(module, once_of, amend),
            edits=module.edits,
            doc=Template(module.__doc__ or "").substitute(said),
            framework=framework,
        )
        for module in SHARED
        if module not in left_out
    )


def deciding(
    module: ModuleType,
    once_of: Callable[[Plan], Once],
    amend: Callable[[Plan, Answer], Answer],
) -> Callable[[Plan], Iterable[Answer]]:
    """What a rule decides, once the effects of a script are found in the words of its framework."""

    def decide(plan: Plan) -> Iterable[Answer]:
        once_of(plan)
        return (amend(plan, answer) for answer in module.decide(plan))

    return decide
