"""Whole models of libraries, by the names of their inputs and outputs."""

from __future__ import annotations

from transpile.facts.values import Constant
from transpile.rows.bound import tensor_of
from transpile.rows.domain import LENGTH, Dim, Known, Record, Tensor
from transpile.rows.shapes import Impossible, Mixed, Unclear
from transpile.rows.state import Given, Running
from transpile.rules.pytorch.operations.heads import head_of

#: Models of torchvision that give several outputs, or take lists of images.
SEVERAL = ("inception", "googlenet", "Inception", "GoogLeNet")
#: Outputs of models of transformers, to their rank.
OUTPUTS = {"logits": None, "last_hidden_state": 3, "pooler_output": 2, "image_embeds": 2,
           "text_embeds": 2, "start_logits": 2, "end_logits": 2,
           "prediction_logits": 3}  # fmt: skip
#: Heads of transformers, by the end of their names, to the rank of the logits.
HEADS = {"ForSequenceClassification": 2, "ForTokenClassification": 3, "ForMaskedLM": 3,
         "LMHeadModel": 3, "ForCausalLM": 3, "ForImageClassification": 2,
         "ForMultipleChoice": 2}  # fmt: skip


def library_model(run: Running, name: str, made: Given, given: Given) -> Known:
    """What a model of a library gives."""
    run.noise = True
    if name.startswith("transformers."):
        return transformers_model(run, name, given)
    run.batch_norm = True
    if not given.items:
        raise Unclear(f"nothing is known of how '{name}' is called", "object")
    if any(one in name for one in SEVERAL) or name.startswith("torchvision.models.detection"):
        raise Unclear(f"nothing is known of what '{name}' gives", "object")
    tensor = tensor_of(run, given.items[0])
    if tensor.dims is None:
        return Tensor(None)
    if len(tensor.dims) != (5 if ".video" in name else 4):
        raise Impossible
    if tensor.axis not in (None, 0):
        raise Mixed(f"'{name}' takes the samples for another axis")
    if name.startswith("torchvision.models.segmentation"):
        found = Tensor((tensor.dims[0], LENGTH, LENGTH, LENGTH))
        return Record((("out", found), ("aux", found)))
    if name.startswith(("torch.hub.", "segmentation_models_pytorch.")):
        if name.startswith("segmentation_models_pytorch."):
            return Tensor((tensor.dims[0], LENGTH, LENGTH, LENGTH))
        raise Unclear(f"nothing is known of what '{name}' gives", "object")
    if name.startswith("timm.") and made.keywords.get("features_only") == Constant(True):
        raise Unclear(f"nothing is known of what '{name}' gives", "object")
    classes = made.get("num_classes")
    size = None
    if isinstance(classes, Constant) and isinstance(classes.value, int) and classes.value:
        from transpile.rows.domain import Factor

        size = Factor(classes.value)
    return Tensor((tensor.dims[0], Dim(size)))


def transformers_model(run: Running, name: str, given: Given) -> Known:
    """A model of transformers, with outputs by name."""
    sample = None
    for one in given.every():
        if isinstance(run.settle(one), Tensor):
            tensor = tensor_of(run, one)
            if tensor.axis is not None and tensor.axis != 0:
                raise Mixed(f"'{name}' takes the samples for another axis")
            if tensor.dims and tensor.axis == 0:
                sample = tensor.dims[0]
    if sample is None:
        raise Unclear(f"nothing is known of how '{name}' is called", "object")
    rank = next((rank for end, rank in HEADS.items() if end in name), None)
    entries: list[tuple[object, Known]] = []
    head = head_of(name)
    unpacked = "**" in given.keywords and head is not None and head.mean_over
    if "labels" in given.keywords or unpacked:
        entries.append(
            ("loss", run.coupled("the loss that the model gives takes the samples together"))
        )
    for word, own in OUTPUTS.items():
        ranks = rank if word == "logits" else own
        if ranks is not None:
            entries.append((word, Tensor((sample, *((LENGTH,) * (ranks - 1))))))
    return Record(tuple(entries), run.unknown(f"an output of '{name}' is not known"))
