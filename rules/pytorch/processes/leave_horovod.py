"""Leave Horovod for torch.distributed, with --leave horovod.

What:
    Horovod's calls become those of torch.distributed, and what ``DistributedOptimizer`` averaged is
    averaged by ``DistributedDataParallel``, or by hand where no wrap can. Ranks, sizes, samplers,
    learning rates and guards of the script stay what they are: its batches are those of one process
    already.

Why:
    PyTorch averages gradients by itself and overlaps that with the backward pass; what Horovod does
    beside needs a library that is built for each version of PyTorch.

Before:
    import horovod.torch as hvd

    hvd.init()
    model = Net()
    optimizer = SGD(model.parameters(), lr=0.1 * hvd.size())
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

After:
    setup_distributed()
    model = Net()
    if get_world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = SGD(model.parameters(), lr=0.1 * get_world_size())
    broadcast_optimizer_state(optimizer, root_rank=0)

Refuses when:
    something of Horovod has no counterpart that does exactly the same: Adasum, elastic jobs,
    compression, sparse gradients made dense, sets of processes, calls that return at once. Where
    the script chooses such a thing by an option when it runs, the output stops if it is chosen.
    It refuses, too, where an optimizer is not Horovod's; loaders may end at different times and
    ``hvd.join`` waits for them; a function of Horovod is handed on instead of being called.

Source:
    https://horovod.readthedocs.io/en/stable/pytorch.html,
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout.arguments import remove_argument
from transpile.layout.statements import remove_statement
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.processes._horovod_choices import Choice, choice_of, guards
from transpile.rules.pytorch.processes._horovod_names import (
    Use,
    aliases,
    imports,
    misused,
    starts,
    text_of,
    uses,
)
from transpile.rules.pytorch.processes._set_up_helper import call_of
from transpile.rules.pytorch.processes._variants import variants
from transpile.text.changes import Edit, Replace
from transpile.text.span import Span

CODES = {
    "PT121": "a call of Horovod becomes one of torch.distributed",
    "PT122": "something of Horovod has no counterpart that does exactly the same",
    "PT123": "gradients are clipped while Horovod still averages them",
}
#: It holds only where a script is to leave Horovod.
LEAVES = ("horovod",)

OPTIMIZER = "DistributedOptimizer"
#: Functions to the helpers that do the same.
COUNTERPARTS = {
    "init": "setup_distributed",
    "shutdown": "cleanup_distributed",
    "rank": "get_rank",
    "size": "get_world_size",
    "local_rank": "get_local_rank",
    "local_size": "get_local_size",
    "allreduce": "all_reduced",
    "allgather": "all_gathered",
    "broadcast": "broadcast_tensor",
    "broadcast_": "broadcast_in_place",
    "broadcast_object": "broadcast_object",
    "allgather_object": "gather_objects",
    "broadcast_parameters": "broadcast_parameters",
    "broadcast_optimizer_state": "broadcast_optimizer_state",
    "join": "barrier",
    "barrier": "barrier",
}
#: Questions of what was built, to those of torch.distributed.
BUILT = {
    "nccl_built": "is_nccl_available",
    "gloo_built": "is_gloo_available",
    "mpi_built": "is_mpi_available",
}
#: Arguments that are left out where they have these values, of any function; None for any value.
LEFT_OUT = {
    "name": None, "named_parameters": None, "backward_passes_per_step": None, "num_groups": None,
    "compression": ("Compression.none",), "op": ("Average",), "average": ("True",),
    "gradient_predivide_factor": ("1.0", "1"), "prescale_factor": ("1.0", "1"),
    "postscale_factor": ("1.0", "1"), "sparse_as_dense": ("False",), "groups": ("None",),
}  # fmt: skip
#: The names of the parameters that stay, by function.
KEPT = {
    "allreduce": ("tensor",), "allgather": ("tensor",), "broadcast": ("tensor", "root_rank"),
    "broadcast_": ("tensor", "root_rank"), "broadcast_object": ("obj", "root_rank"),
    "allgather_object": ("obj",), "broadcast_parameters": ("params", "root_rank"),
    "broadcast_optimizer_state": ("optimizer", "root_rank"), OPTIMIZER: ("optimizer",),
}  # fmt: skip
#: The order of the parameters that calls may give by position, where it goes beyond those.
SUMS = {"op": ("Sum",), "average": ("False",)}
WHY = {
    "Adasum": "Adasum adds gradients up by their directions, which torch.distributed does not",
    "Compression": "compressed gradients would not be rounded as Horovod rounds them",
    "elastic": "elastic jobs go on with other numbers of processes, and keep their state for that",
    "ProcessSet": "sets of processes average among themselves",
    "SyncBatchNorm": "PyTorch's layer of that name gathers its statistics otherwise",
}
ADVICE = "take it out of the script while it still runs with Horovod, and compare what it trains"


@dataclass(frozen=True, eq=False)
class Leaving:
    """One use of Horovod that is replaced.

    Args:
        use: where, and of what; None for an import.
        statement: the statement that goes, where all of it does.
        dropped: the arguments that go.
        is_sum: a reduction adds up.
        context: it is a method of the optimizer that only opens a block.
        choices: what is chosen when the script runs.
        start: a call that starts the processes.
    """

    use: Use | None
    statement: cst.CSTNode | None = None
    dropped: tuple[cst.Arg, ...] = ()
    is_sum: bool = False
    context: cst.Call | None = None
    choices: tuple[Choice, ...] = ()
    start: cst.Call | None = None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each import of Horovod, each use, and each method of its optimizers."""
    modules = sorted(plan.facts.modules.values(), key=lambda one: one.source.path)
    found = [(module, use) for module in modules for use in uses(module)]
    claims = tuple(loader.event.node for loader in plan.training_loaders)
    claims += tuple(backward.event.node for backward in plan.backwards)
    for module in modules:
        for statement, why in imports(module):
            if why:
                yield refusal(module, statement, why)
            else:
                data = Leaving(None, statement)
                what = "Horovod is not imported any more"
                yield applied(module, statement, what, data, claims)
        yield from (refusal(module, node, why) for node, why in misused(module))
        for call in starts(module):
            yield applied(
                module, call, "a launcher starts the processes", Leaving(None, start=call)
            )
    names = {use.name for _, use in found}
    chosen = {id(node) for each in found for one in choices(*each).values() for node in one.nodes}
    for module, use in found:
        if id(use.node) not in chosen:
            yield from answers(plan, module, use)
    yield from of_optimizers(found)
    handed = sum(use.name == OPTIMIZER for _, use in found)
    learning = [one for one in plan.optimizers if one.steps and not one.event.detached]
    if len({id(one.event.node) for one in learning}) > handed:
        event = learning[-1].event
        yield refusal(event.module, event.node, "an optimizer that learns is not Horovod's")
    if "join" in names and not end_together(plan):
        for module, use in found:
            if use.name == "join":
                why = "loaders may end at different times, and processes that are done would not "
                yield refusal(module, use.node, f"{why}take part in what the others average")


def choices(module: Module, use: Use) -> dict[int, Choice]:
    """What the arguments of an optimizer's call choose when the script runs, by their places."""
    if use.name != OPTIMIZER or use.call is None:
        return {}
    known = aliases(module)
    found = ((at, choice_of(module, one, known)) for at, one in enumerate(use.call.args))
    return {at: choice for at, choice in found if choice is not None}


def end_together(plan: Plan) -> bool:
    """Whether all loaders that train are shown to give every process the same number of batches."""
    loaders = plan.training_loaders
    samplers = [loader.event.arguments.get("sampler", 3) for loader in loaders]
    return bool(loaders) and all(
        sampler is not None
        and sampler.values
        and all(not plan.table.rank_samplers.isdisjoint(called_names(v)) for v in sampler.values)
        for sampler in samplers
    )


def answers(plan: Plan, module: Module, use: Use) -> Iterator[Answer]:
    """What becomes of one use of a name of Horovod."""
    first = use.name.split(".")[0]
    if use.call is None:
        if first in WHY and not use.is_argument_of_none:
            yield refusal(module, use.node, WHY[first])
        elif not use.is_argument:
            yield refusal(module, use.node, f"`{use.name}` is handed on instead of being called")
        return
    if use.name not in COUNTERPARTS and use.name not in BUILT and use.name != OPTIMIZER:
        yield refusal(module, use.node, WHY.get(first, f"`{use.name}` has no counterpart"))
        return
    kept = KEPT.get(use.name, ())
    dropped: list[cst.Arg] = []
    is_sum = False
    chosen = choices(module, use)
    for index, argument in enumerate(use.call.args):
        if index in chosen:
            dropped.append(argument)
            continue
        keyword = argument.keyword.value if argument.keyword is not None else ""
        if argument.star or (not keyword and index >= len(kept)):
            yield refusal(module, use.node, "what is passed here is not told by names")
            return
        if not keyword or keyword in kept:
            continue
        value = text_of(module, argument.value)
        if keyword in SUMS and value in SUMS[keyword] and use.name == "allreduce":
            is_sum = True
        elif keyword not in LEFT_OUT or value not in (LEFT_OUT[keyword] or (value,)):
            word = next((word for word in WHY if word in value), "")
            why = WHY.get(
                word, f"`{keyword}={module.source.code(argument.value)}` has no counterpart"
            )
            yield refusal(module, argument, why)
            return
        dropped.append(argument)
    if use.name == OPTIMIZER and (not use.call.args or use.call.args[0].keyword is not None):
        yield refusal(module, use.node, "the optimizer is not the first argument")
        return
    if use.name == "join" and not use.is_statement:
        yield refusal(module, use.node, "the last process to arrive is asked for")
        return
    statement = use.same if use.name == OPTIMIZER else None
    what = f"`{use.name}` of Horovod is replaced"
    data = Leaving(use, statement, tuple(dropped), is_sum, choices=tuple(chosen.values()))
    yield applied(module, use.node, what, data)


def of_optimizers(found: list[tuple[Module, Use]]) -> Iterator[Answer]:
    """What becomes of the methods that only Horovod's optimizers have."""
    synchronised = False
    targets = {use.target for _, use in found if use.name == OPTIMIZER and use.target}
    modules = dict.fromkeys(module for module, _ in found)
    calls = [(module, call) for module in modules for call in module.source.nodes_of(cst.Call)]
    for module, call in calls:
        if not isinstance(call.func, cst.Attribute):
            continue
        method, base = call.func.attr.value, module.source.code(call.func.value)
        if method == "synchronize" and (base in targets or "optim" in base):
            synchronised = True
            statement = module.source.parent(call)
            if not isinstance(statement, cst.Expr):
                yield refusal(module, call, "what `synchronize` gives is used")
                continue
            what = "gradients are averaged by then"
            yield applied(module, call, what, Leaving(None, statement))
        elif method == "skip_synchronize":
            yield applied(module, call, "nothing is left to skip", Leaving(None, context=call))
    for module, call in calls:
        if module.source.code(call.func).rpartition(".")[2] in CLIPPING and not synchronised:
            message = (
                "gradients are clipped here before `synchronize()`, while Horovod still averages "
                "them: the output clips those of all processes"
            )
            yield Remark.warn("PT123", (module, call), message, "look which is meant")


CLIPPING = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"})


def refusal(module: Module, node: cst.CSTNode, why: str) -> Ruling:
    """What cannot leave Horovod."""
    return Ruling.refuse("PT122", (module, node), f"this cannot leave Horovod: {why}", ADVICE)


def applied(
    module: Module,
    node: cst.CSTNode,
    what: str,
    data: Leaving,
    claims: tuple[cst.CSTNode, ...] = (),
) -> Ruling:
    """What leaves Horovod."""
    return Ruling.apply("PT121", (module, node), what, data=data, claims=claims)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The statement that goes, or the call of the counterpart."""
    data: Leaving = ruling.data
    module, source = ruling.module, ruling.module.source
    if data.start is not None:
        text = 'raise SystemExit("start this script with torchrun")'
        yield In(module, Replace(source.span(data.start), text))
        return
    call = data.use.call if data.use is not None else None
    yield from guards(plan, module, data.choices, data.statement, call)
    if data.statement is not None:
        if all(one.statement is not None for one in data.choices):
            for edit in remove_statement(source, data.statement):  # type: ignore[arg-type]
                yield In(module, edit)
        return
    if data.context is not None:
        contextlib = plan.names_in(module).imported("contextlib", "contextlib")
        yield In(module, Replace(source.span(data.context), f"{contextlib}.nullcontext()"))
        return
    use = data.use
    assert use is not None and use.call is not None
    if use.name == OPTIMIZER:
        for edit in within(module, use.call):
            yield In(module, edit)
        return
    if use.name in BUILT:
        dist = plan.names_in(module).imported("torch.distributed", "dist")
        yield In(module, Replace(source.span(use.call.func), f"{dist}.{BUILT[use.name]}"))
        return
    name = COUNTERPARTS[use.name]
    if use.name == "init":
        plan.helpers.update(variants(plan, False))
    yield Helper(name, module)
    yield In(module, Replace(source.span(use.call.func), plan.names_in(module).fresh(name)))
    for argument in data.dropped:
        if data.is_sum and argument.keyword is not None and argument.keyword.value in SUMS:
            yield In(module, Replace(source.span(argument), "average=False"))
            continue
        for edit in remove_argument(source, use.call, argument):
            yield In(module, edit)
    if use.name == "init":
        given = call_of(plan.options, model_place(plan))
        if given:
            opening = source.text.index("(", source.span(use.call.func).end)
            yield In(module, Replace(Span(opening, opening + 1), f"({given}"))


def left_out(rulings: Rulings, module: Module) -> Iterator[Span]:
    """What is left out of a module, so that nothing in it need change."""
    source = module.source
    for ruling in rulings.of("leave-horovod", Verdict.APPLY):
        data: Leaving = ruling.data
        if ruling.module is not module:
            continue
        for one in data.choices:
            if one.statement is not None:
                yield source.span(one.statement)
        if data.statement is not None:
            yield source.span(data.statement)
        elif data.use is not None and data.use.call is not None and data.dropped:
            yield from map(source.span, data.dropped)


def within(module: Module, call: cst.Call) -> Iterator[Edit]:
    """The edits that leave of a call its first argument."""
    source = module.source
    first, whole = source.span(call.args[0].value), source.span(call)
    yield Replace(Span(whole.start, first.start), "")
    yield Replace(Span(first.end, whole.end), "")
