"""Warn of models that are not shown to keep the samples of a batch apart.

What:
    A model behind a loss in which an operation goes along the axis of the samples, keeps something
    of them for the next call, or uses how many there are, is warned of with that operation; so is
    one with a part of a library that nothing is known of.

Why:
    Each process calls the model with its share of the batch. What mixes the samples of a share
    gives another result than what mixes those of the whole batch.

Before:
    def forward(self, x):
        return self.layer(x).softmax(0)

After:
    def forward(self, x):
        return self.layer(x).softmax(1)

Refuses when:
    never: it is a warning, as for models that combine samples with a statistic of the batch.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    (each process has a share of the batch).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, is_instance_of, origin, origins
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import outputs, reached_by_losses
from transpile.plan.models.modes import is_in_evaluation
from transpile.plan.models.parts import walk_parts
from transpile.plan.roles.surroundings import inside_module
from transpile.quantity.asking import Kind, quantity
from transpile.quantity.joined import is_joined
from transpile.quantity.models.couplings import couplings
from transpile.records import replace
from transpile.rows.items import NAMED, NOT_KNOWN
from transpile.rows.verdict import hook
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.models._batch_norm import has_batch_norm
from transpile.rules.pytorch.models._split.batches import names_rows
from transpile.rules.pytorch.models._split.left_behind import FORWARD
from transpile.rules.pytorch.models._split.methods import calls_by_method
from transpile.rules.pytorch.models._split.rows import CallRows, calls_of, rows_of, worst

CODES = {
    "PT413": "a model mixes the samples of a batch",
    "PT414": "whether a model keeps the samples of a batch apart is not known",
}
#: Where calls are split, models are looked at for that.
WAYS = ("data",)
SEQUENTIAL = "torch.nn.Sequential"
#: What makes a model of another one, in the mode that this one is in.
COPIES = frozenset({"copy.deepcopy", "torch.optim.swa_utils.AveragedModel"})
#: What libraries make models with that are not looked into: they begin in training mode.
LIBRARIES = ("torchvision.models.", "timm.create_model")
OF_THE_SHARE = "batch norm in training mode takes statistics of the share"
OF_THE_BATCH = "whether places that the batch holds are those of a sample's own rows is not known"
#: Something of a library, of which no table tells what it does with samples.
OBJECTS = frozenset({"object", "bundle"})
#: Reasons that make a share of the batch differ from the whole.
CAUSES = frozenset({"samples", "state", "count"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for each model behind a loss that is shown to mix its samples."""
    seen: set[int] = set()
    for model in (*plan.trained_models, *untrained(plan)):
        if not model.trained and (moving := moving_norm(plan, model)) is not None:
            yield mixed(moving, OF_THE_SHARE)
        if has_known_head(plan, model):
            continue
        for rows, calls in called_in(plan, model):
            yield from remarks(plan, model, rows, calls, seen)
    for model, method, calls in methods_beside(plan):
        yield from remarks(plan, model, worst(plan, method, calls), calls, seen)
    for event in norms_of_others(plan):
        yield mixed(event, OF_THE_SHARE)


def methods_beside(plan: Plan) -> Iterator[tuple[Model, BoundMethod, list[Event]]]:
    """The further calls of methods of models that losses depend on, be it of one of several."""
    reached = reached_by_losses(plan)
    known = {
        id(event)
        for model in plan.trained_models
        for _, calls in calls_by_method(plan, model)
        for event in calls
    }
    models = {id(model.value): model for model in plan.models}
    found: dict[tuple[int, int], tuple[Model, BoundMethod, list[Event]]] = {}
    for event in plan.facts.reached_calls:
        if id(event) in known or inside_module(event.stack, plan.table):
            continue
        given = tuple(value for value in outputs(event) if id(value) in reached)
        if not any(quantity(plan, (one,)).kind is Kind.SAMPLE for one in parts(given)):
            continue
        for callee in event.callee:
            if not isinstance(callee, BoundMethod) or callee.function.name in FORWARD:
                continue
            model = origin(callee.receiver)
            if is_instance_of(model, plan.table.module_bases):
                key = (id(model), id(callee.function.node))
                one = models.get(id(model)) or Model(model)
                found.setdefault(key, (one, callee, []))[2].append(event)
    yield from found.values()


def called_in(plan: Plan, model: Model) -> Iterator[tuple[CallRows, list[Event]]]:
    """What the calls of a model do with samples, or those of each method that training calls."""
    by_method = calls_by_method(plan, model)
    for _, calls in by_method:
        yield worst(plan, calls[0].callee[0], calls), calls
    if not by_method:
        yield rows_of(plan, model), calls_of(plan, model)


def remarks(
    plan: Plan, model: Model, rows: CallRows, calls: list[Event], seen: set[int]
) -> Iterator[Remark]:
    """What is said of some calls of a model; of each place once."""
    hooked = hook(plan.facts)
    if hooked is not None and rows.node is hooked.node:
        # Of hooks it is told where they are registered.
        return
    if rows.reason == NAMED and rows.node is not None and names_rows(plan, rows.node):
        # A collate function may well name rows of the same sample, as it does for graphs.
        rows = replace(rows, verdict="check", reason=OF_THE_BATCH, possible=False)
    if is_unknown(rows) and (model.trained or rows.cause not in OBJECTS):
        yield unknown(plan, model, rows)
    if rows.verdict == "coupled" and rows.cause == "padding" and rows.module and rows.node:
        yield padded(rows.module, rows.node)
    if rows.verdict != "coupled" or rows.cause not in CAUSES or rows.possible:
        return
    if rows.node is None or rows.module is None or id(rows.node) in seen:
        return
    # Of the shapes that are supposed of the inputs one is meant.
    ways = rows.mixing or ((rows.node,),)
    if any(all(is_accounted_for(plan, calls, node) for node in way) for way in ways):
        return
    seen.add(id(rows.node))
    yield mixed(rows, rows.reason)


def has_known_head(plan: Plan, model: Model) -> bool:
    """Whether a model is one of a library of which it is known what its loss is a mean over.

    All else that it gives are rows; of the loss it is said where it is trained on.
    """
    head_of = plan.table.quantities.layers.heads
    names = called_names(model.value)
    heads = [head_of(name) for name in names] if head_of is not None else []
    return bool(heads) and all(head is not None and head.mean_over for head in heads)


def mixed(where: CallRows | Event, reason: str) -> Remark:
    """The warning about something that goes along the samples."""
    return Remark.warn(
        "PT413",
        where,
        f"the model gives each sample another result where it has a share of the batch: {reason}",
        "keep the samples apart, or compare a run with one process",
    )


def untrained(plan: Plan) -> Iterator[Model]:
    """The models that losses depend on but that do not learn, such as teachers."""
    reached = reached_by_losses(plan)
    trained = {id(model.value) for model in plan.trained_models}
    inner = {id(part) for model in plan.trained_models for part in walk_parts(model.value)}
    found: dict[int, Model] = {}
    for event in plan.facts.reached_calls:
        given = [value for value in event.result if id(value) in reached]
        if not given or inside_module(event.stack, plan.table):
            continue
        for model in map(origin, event.callee):
            holds = SEQUENTIAL in called_names(model)
            if id(model) in trained or (holds and id(model) in inner):
                continue
            if holds or (is_instance_of(model, plan.table.module_bases) and id(model) not in inner):
                # What a criterion gives is a number, and looked at as that.
                if any(quantity(plan, (one,)).kind is Kind.SAMPLE for one in parts(tuple(given))):
                    found.setdefault(id(model), Model(model)).forwards.append(event)
    yield from found.values()


def moving_norm(plan: Plan, model: Model) -> Event | None:
    """The first call of a model in training mode whose batch norm looks at the batch."""
    if not has_batch_norm(plan, model):
        return None
    return next(
        (e for e in model.forwards if not is_in_evaluation(plan, model.value, e)),
        None,
    )


def norms_of_others(plan: Plan) -> Iterator[Event]:
    """The first call of each copy, or model of a library, whose batch norm looks at the batch.

    Losses depend on it, as on a teacher; or its statistics, which such a call changes, are kept.
    """
    trained = {id(part) for model in plan.trained_models for part in walk_parts(model.value)}
    others: dict[int, Model] = {}
    for event in plan.facts.reached_calls:
        if inside_module(event.stack, plan.table):
            continue
        for model in map(called, event.callee):
            names = called_names(model)
            ready_made = any(name.startswith(LIBRARIES) for name in names)
            if COPIES.intersection(names) or (ready_made and id(model) not in trained):
                others.setdefault(id(model), Model(model)).forwards.append(event)
    for other in others.values():
        if any(has_batch_norm(plan, Model(one)) is not False for one in copied(other.value)):
            evaluated = [
                is_in_evaluation(plan, other.value, e, copied=True) for e in other.forwards
            ]
            if not all(evaluated):
                yield other.forwards[evaluated.index(False)]


def called(callee: Value) -> Value:
    """The model that a call is one of, also where its ``forward`` is called by name."""
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "forward":
        behind = origins(callee.operands[0])
        return behind[0] if len(behind) == 1 else callee
    return origin(callee)


def copied(value: Value) -> Iterator[Value]:
    """The models that a copy is one of, through copies of copies."""
    if not isinstance(value, Opaque) or not COPIES.intersection(called_names(value)):
        yield value
        return
    for argument in value.arguments.items[:1]:
        for one in map(origin, argument.values):
            yield from copied(one)


def padded(module: Module, node: cst.CSTNode) -> Remark:
    """The note on outputs that are as long as the longest sample of a share."""
    return Remark.note(
        "PT413",
        (module, node),
        "each process pads its share of a batch to the longest sample in that share: what is "
        "computed of the outputs without a mask over the padding differs a little from one process",
        "mask the padding, or give pad_packed_sequence a total_length",
    )


def is_unknown(rows: CallRows) -> bool:
    """Whether nothing shows that the samples are apart, whatever shapes the inputs have.

    What a call hands on that it is given unpacked is told where it stands.
    """
    if rows.verdict != "check":
        return False
    return rows.cause in OBJECTS or (not rows.possible and rows.cause != "arguments")


def unknown(plan: Plan, model: Model, rows: CallRows) -> Remark:
    """The warning about something within a model that cannot be analysed."""
    module, node = rows.module, rows.node
    if module is None or node is None:
        module = getattr(model.value, "module", plan.entry)
        node = getattr(model.value, "node", None)
    advice = "--shard calls checks it with the first batch"
    if rows.cause == "bundle":
        advice = "let the model give tensors, and make the object of them in the script"
    elif rows.reason in (OF_THE_BATCH, NOT_KNOWN):
        advice = "keep the samples apart, or compare a run with one process"
    return Remark.warn(
        "PT414",
        (module, node),
        f"a share of the batch trains this model as the whole does only if it keeps the samples "
        f"apart: {rows.reason}",
        advice,
    )


def is_accounted_for(plan: Plan, calls: list[Event], node: object) -> bool:
    """Whether what mixes the samples is warned of already, or is known for what it is.

    That is a mean or sum, such as a loss that the model gives beside its outputs.
    """
    if any(True for _ in couplings(plan)):
        return True
    reduced = quantity(plan, plan.facts.values_of(node)).kind is Kind.PART
    outputs = {quantity(plan, (one,)).kind for event in calls for one in parts(event.result)}
    # Of a loss that is not known it is said where it is trained on.
    return reduced and not outputs.isdisjoint((Kind.PART, Kind.UNKNOWN))


def parts(values: Values) -> Iterator[Value]:
    """The parts of what a model gives."""
    for value in values:
        if isinstance(value, (Sequence, Mapping)):
            yield from parts(value.every())
        elif isinstance(value, Opaque) and any(map(is_joined, value.inner)):
            # ``return (loss,) + outputs``
            yield from parts(value.inner)
        elif is_joined(value):
            assert isinstance(value, Opaque)
            yield from parts(tuple(one for operand in value.operands for one in operand))
        else:
            yield value
