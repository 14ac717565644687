"""What a script does with parts of a batch, as far as it tells that they are tensors."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import External
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Loader, Plan

from .losses import FUNCTIONAL, loss_class
from .vocabulary import words

#: Attributes and methods that tensors have, and lists, dicts and batches of libraries do not.
OF_TENSORS = words("""
    abs argmax detach dim double dtype exp flatten float half int item log long max mean min ndim
    new_ones new_zeros norm numel numpy permute reshape shape size squeeze std sum tolist transpose
    type unsqueeze view
    """)
#: Data sets whose samples are tuples of tensors and numbers.
OF_TENSORS_ALONE = ("torch.utils.data.TensorDataset", "torchvision.datasets.")


def tensors_by_use(plan: Plan) -> set[int]:
    """The identities of the values that the script uses as tensors somewhere."""
    if "used as tensors" not in plan.memo:
        found: set[int] = set()
        for module in plan.facts.modules.values():
            for node in module.source.nodes_of(cst.Attribute):
                if node.attr.value.rstrip("_") in OF_TENSORS:
                    found.update(id(value) for value in plan.facts.values_of(node.value))
        for event in plan.facts.calls:
            if any(
                (isinstance(one, External) and one.name.startswith(FUNCTIONAL))
                or any(loss_class(name) for name in called_names(origin(one)))
                for one in event.callee
            ):
                for item in event.arguments.items:
                    found.update(id(value) for value in item.values)
        plan.memo["used as tensors"] = found
    known: set[int] = plan.memo["used as tensors"]
    return known


def gives_tensors(loader: Loader) -> bool:
    """Whether a loader's batches are tuples of tensors for certain."""
    dataset = loader.argument("dataset")
    return (
        dataset is not None
        and bool(dataset.values)
        and not loader.argument("collate_fn")
        and all(
            any(name.startswith(OF_TENSORS_ALONE) for name in called_names(value))
            for value in dataset.values
        )
    )
