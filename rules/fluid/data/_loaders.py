"""Loaders and feeders that are given a reader."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Function, Opaque, Value
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.rules.fluid._roles import Run, roles_of
from transpile.rules.fluid.data._divisions import Answer, Divided, Division, Undivided, reading_rank
from transpile.rules.fluid.data._readers import FEEDER
from transpile.rules.fluid.programs._programs import programs_of

LOADERS = frozenset(
    {
        "paddle.fluid.io.PyReader", "paddle.fluid.io.DataLoader.from_generator",
        "paddle.fluid.layers.py_reader", "paddle.fluid.layers.create_py_reader_by_data",
    }
)  # fmt: skip
#: Methods that give a loader lists of samples.
SAMPLE_LISTS = frozenset(
    {"decorate_paddle_reader", "decorate_sample_list_generator", "set_sample_list_generator"}
)
#: Methods that give a loader batches as arrays.
ARRAYS = frozenset({"decorate_batch_generator", "set_batch_generator", "decorate_tensor_provider"})
#: Methods that give a loader single samples, and those that give it lists of them.
SAMPLES = {
    "decorate_sample_generator": "decorate_sample_list_generator",
    "set_sample_generator": "set_sample_list_generator",
}
#: What describes the batches that a loader makes of single samples, in the order of its arguments.
BATCHING = ("reader", "batch_size", "drop_last")


class Loaders:
    """Finds what feeds a program by itself, and divides the readers that it is given.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sharding = reading_rank(plan)

    def decorated(self, run: Run, behind: dict[int, Value]) -> Iterator[Answer]:
        """The readers given to ``DataFeeder.decorate_reader``."""
        for value in behind.values():
            for method, receivers in method_calls(value):
                if method == "decorate_reader" and any(
                    FEEDER in called_names(r) for r in receivers
                ):
                    assert isinstance(value, Opaque)
                    yield self.given(run, value, ("reader", 0), "shard_reader")

    def of(self, run: Run) -> Iterator[Answer]:
        """The loaders that feed a run without a feed."""
        makers = [
            value
            for event in self.plan.facts.reached_calls
            for value in event.result
            if isinstance(value, Opaque)
            and value.node is event.node
            and LOADERS.intersection(called_names(value))
            and self.in_program(event)
        ]
        if len({id(value) for value in makers}) != 1:
            yield Undivided(
                run.event.module,
                run.event.node,
                (
                    "several loaders may feed this run"
                    if makers
                    else "nothing is fed here, so that there is nothing to divide"
                ),
                "feed batches of a reader to each run that trains",
            )
            return
        yield from self.filled(run, makers[0])

    def in_program(self, event: Event) -> bool:
        """Whether a loader stands in the program that is trained."""
        roles = roles_of(self.plan)
        program = programs_of(self.plan).current(event.stack, 0)
        trained = (roles.minimize,) if roles.minimize is not None else roles.several
        return any(program == minimize.program for minimize in trained)

    def filled(self, run: Run, loader: Value) -> Iterator[Answer]:
        """The calls that give a loader its reader."""
        found = False
        for event in self.plan.facts.reached_calls:
            for callee in event.callee:
                if not isinstance(callee, Opaque) or callee.kind != "attribute":
                    continue
                if not any(value is loader for value in callee.operands[0]):
                    continue
                for value in event.result:
                    if not isinstance(value, Opaque):
                        continue
                    if callee.name in SAMPLE_LISTS:
                        found = True
                        yield self.given(run, value, ("reader", 0), "shard_reader")
                    elif callee.name in ARRAYS:
                        found = True
                        # Whole batches go to the trainers in turn, whatever they are made of.
                        whole = self.plan.options.batch_size == "per-device"
                        helper = "shard_reader" if whole else "shard_arrays"
                        yield self.given(run, value, ("reader", 0), helper)
                    elif callee.name in SAMPLES:
                        found = True
                        yield self.single(run, value, SAMPLES[callee.name])
        if not found:
            yield Undivided(
                run.event.module,
                run.event.node,
                "the loader that feeds this run is not seen to be given a reader",
                "call set_sample_list_generator in the script",
            )

    def given(self, run: Run, value: Opaque, name: tuple[str, int], helper: str) -> Answer:
        """The division of a reader that is an argument."""
        argument = value.arguments.get(*name) or next(
            (item for item in value.arguments.items if item.keyword != "places"), None
        )
        node = argument.node if argument is not None else None
        if argument is not None and all(
            isinstance(each, Function) and id(each.node) in self.sharding
            for each in argument.values
        ):
            return Divided(value.module, value.node)
        if not isinstance(node, cst.BaseExpression) or not value.module.is_entry:
            return Undivided(
                value.module,
                value.node,
                "the reader that is given here cannot be divided where it stands",
                "give it to the loader in the script, as an argument of its own",
            )
        return Division(helper, value.module, node)

    def single(self, run: Run, value: Opaque, method: str) -> Answer:
        """The division of a reader of single samples, of which a loader makes batches itself.

        The loader is given lists of samples instead, in which the last batch can be shared, too.
        """
        answer = self.given(run, value, ("reader", 0), "shard_samples")
        if not isinstance(answer, Division):
            return answer
        call = value.node
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            names = [argument.keyword.value if argument.keyword else "" for argument in call.args]
            count = next((i for i, name in enumerate(names) if name == "places"), len(names))
            count = min(count, len(BATCHING))
            last = call.args[count - 1].value if count else None
            plain = all(
                not argument.star and name in ("", *BATCHING)
                for argument, name in zip(call.args[:count], names[:count], strict=True)
            )
            rest = [name for name in names[count:] if name not in ("", "places")]
            if plain and not rest and last is not None and call.args[0].value is answer.node:
                return Division("shard_samples", value.module, last, call=call, method=method)
        return Undivided(
            value.module,
            value.node,
            "this loader makes batches of single samples itself, and how it is told to cannot be "
            "rewritten",
            "give it paddle.batch(reader, batch_size) with set_sample_list_generator",
        )
