"""Whether a model has batch norm."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque, Value
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query

BATCH_NORMS = (
    "torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d",
    "torch.nn.LazyBatchNorm1d", "torch.nn.LazyBatchNorm2d", "torch.nn.LazyBatchNorm3d",
)  # fmt: skip
#: Models of libraries that are known to have none.
WITHOUT = (
    "torchvision.models.alexnet", "torchvision.models.vit_", "torchvision.models.swin_",
    "torchvision.models.convnext_", "torchvision.models.squeezenet",
    *(f"transformers.{name}" for name in (
        "Bert", "Roberta", "DistilBert", "Albert", "Electra", "XLMRoberta", "Deberta", "GPT",
        "OpenAIGPT", "OPT", "Llama", "Mistral", "T5", "MT5", "Bart", "MBart", "Pegasus", "Marian",
        "ViTFor", "ViTModel", "CLIP", "AutoModelForCausalLM", "AutoModelForMaskedLM",
        "AutoModelForQuestionAnswering", "AutoModelForSeq2SeqLM", "AutoModelForMultipleChoice",
        "AutoModelForSequenceClassification", "AutoModelForTokenClassification",
    )),
)  # fmt: skip
#: Those whose name goes on where a variant has it.
PLAIN_VGG = frozenset(f"torchvision.models.vgg{depth}" for depth in (11, 13, 16, 19))
CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList")


def has_batch_norm(plan: Plan, model: Model) -> bool | None:
    """Whether a model has batch norm; None where what it is made of cannot be analysed."""
    parts = walk_parts(model.value)
    if any(name in BATCH_NORMS for value in parts for name in called_names(value)):
        return True
    for event in plan.facts.calls_to(*BATCH_NORMS):
        receivers = [value for frame in event.calls() for value in frame.receiver]
        if any(receiver is model.value for receiver in receivers):
            return True
    modules = [model.value, *modules_inside(plan, parts)]
    return None if any(cannot_be_looked_into(module) for module in modules) else False


def modules_inside(plan: Plan, parts: list[Value]) -> Iterator[Value]:
    """The parts of a model that are surely modules: what is called, and what a container holds."""
    called = called_values(plan)
    for part in parts:
        if id(part) in called:
            yield part
        if isinstance(part, Opaque) and any(name in CONTAINERS for name in called_names(part)):
            for argument in part.arguments.items:
                yield from argument.values
            yield from part.arguments.rest


@query
def called_values(plan: Plan) -> set[int]:
    """The identities of everything that the script calls like a function."""
    return {
        id(origin(callee))
        for event in plan.facts.calls
        for callee in event.callee
        if isinstance(callee, Opaque)
    }


def cannot_be_looked_into(value: Value) -> bool:
    """Whether a module was made by something that is neither the script's nor a layer of torch."""
    if not isinstance(value, Opaque):
        return False
    names = called_names(value)
    return not names or any(
        not name.startswith(("torch.nn.", *WITHOUT)) and name not in PLAIN_VGG for name in names
    )
