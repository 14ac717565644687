"""Whether the targets of a loss are probabilities of classes rather than their numbers."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import enters_wrapper

#: Words that give numbers with a fraction.
FLOATING = frozenset({"float", "double", "half", "softmax", "sigmoid", "rand", "dirichlet"})
#: Steps that are followed back.
DEEPEST = 8


def are_probabilities(values: Values, plan: Plan, depth: int = 0) -> bool:
    """Whether targets have a fraction for certain, so that they are no numbers of classes."""
    return bool(values) and all(is_probability(value, plan, depth) for value in values)


def is_probability(value: Value, plan: Plan, depth: int) -> bool:
    """See :func:`are_probabilities`."""
    if not isinstance(value, Opaque) or depth > DEEPEST:
        return False
    if value.kind == "operation" and value.name in ("Add", "Subtract", "Multiply", "Divide"):
        return value.name == "Divide" or any(
            any(isinstance(one, Constant) and isinstance(one.value, float) for one in operand)
            or are_probabilities(operand, plan, depth + 1)
            for operand in value.operands
        )
    if any(name.rpartition(".")[2] in FLOATING for name in called_names(value)):
        return True
    for name, receiver in method_calls(value):
        if name in FLOATING:
            return True
        if name in ("to", "cuda", "cpu", "clone", "detach"):
            return are_probabilities(receiver, plan, depth + 1)
    if value.kind == "item" and value.index and isinstance(value.index[0], Constant):
        return any(
            are_probabilities(tensor, plan, depth + 1)
            for tensor in data_tensors(value, value.index[0].value, plan)
        )
    return False


def data_tensors(item: Opaque, position: object, plan: Plan) -> list[Values]:
    """The tensors that a part of a batch is cut out of, for data sets that are given tensors."""
    loaders = {id(loader.value): loader for loader in plan.loaders}
    found: list[Values] = []
    for base in item.operands[0]:
        if not isinstance(base, Opaque) or base.kind != "element":
            continue
        for behind in walk_back(base.operands[0], enters_wrapper):
            loader = loaders.get(id(behind))
            dataset = loader.argument("dataset") if loader is not None else None
            for made in dataset.values if dataset is not None else ():
                if isinstance(made, Opaque) and isinstance(position, int):
                    if plan.table.quantities.batching.tensors & set(called_names(made)):
                        given = made.arguments.positional()
                        found.extend(one.values for one in given[position : position + 1])
    return found
