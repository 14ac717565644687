"""What is learned from what: the tensors of a program and the model that fits them."""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices
from .layers import Layer, feature_layers
from .models import Model, build
from .names import Names
from .shapes import image_layers, series_layers

CLASSES = 3


@dataclass
class Task:
    """What a program learns.

    Args:
        kind: classes, values, tags (a class for each token), multilabel, or same (the input).
        data: lines that make the tensors ``X`` and ``Y``.
        model: the model.
        count: how many samples there are.
    """

    kind: str
    data: list[str]
    model: Model
    count: int


def task_of(choices: Choices, names: Names) -> Task:
    """A random task."""
    shape = choices.pick(
        "data.shape", ("vectors", "images", "series", "tokens"), (5, 1.5, 1.5, 1.5)
    )
    count = choices.number("data.count", 36, 24, 48, 42)
    if choices.chance("data.uneven", 0.04):
        count += 1
    kinds = ["classes", "values", "multilabel"]
    if shape == "vectors":
        kinds.append("same")
    if shape == "tokens":
        kinds.append("tags")
    kind = choices.pick("data.target", kinds, (3, 2, 1, 1))
    layers, lines = _inputs(choices, shape, count, kind)
    outputs = {"classes": CLASSES, "values": 2, "multilabel": 4, "same": 5, "tags": CLASSES}[kind]
    lines += _targets(choices, shape, count, kind)
    title = choices.pick("name.class", ("Net", "Model", "TinyNet", "Classifier"))
    return Task(kind, lines, build(choices, names, layers, str(outputs), title), count)


def _inputs(choices: Choices, shape: str, count: int, kind: str) -> tuple[list[Layer], list[str]]:
    if shape == "vectors":
        return feature_layers(choices, "model", 5), [f"X = torch.randn({count}, 5)"]
    if shape == "images":
        channels = choices.number("data.channels", 1, 3)
        layers = image_layers(choices, "model", channels)
        return layers, [f"X = torch.randn({count}, {channels}, 4, 4)"]
    if shape == "series":
        layers = series_layers(choices, "model", 4, 5, "")
        return layers, [f"X = torch.randn({count}, 5, 4)"]
    padded = choices.chance("data.padded", 0.5)
    lines = [f"X = torch.randint(1, 11, ({count}, 5))"]
    if padded:
        lines += [
            f"lengths = torch.randint(1, 6, ({count},))",
            "X[torch.arange(5)[None, :] >= lengths[:, None]] = 0",
        ]
    mask = "raw != 0" if padded else ""
    layers = series_layers(choices, "model", 4, 5, mask)
    index = ", padding_idx=0" if padded else ""
    embedding = Layer((("emb", f"nn.Embedding(11, 4{index})"),), ("h = M.emb(h)",), "embedding", 4)
    if kind == "tags":
        # One output for each token: what ends the sequence is left out.
        layers = layers[:-1]
    return [embedding, *layers], lines


def _targets(choices: Choices, shape: str, count: int, kind: str) -> list[str]:
    if kind == "same":
        return ["Y = X"]
    if kind == "values":
        if shape == "vectors" and choices.chance("data.formula", 0.5):
            return ["Y = torch.stack([X.sum(1), X[:, 0] * X[:, 1]], dim=1)"]
        return [f"Y = torch.randn({count}, 2)"]
    if kind == "multilabel":
        return [f"Y = (torch.rand({count}, 4) > 0.6).double()"]
    if kind == "tags":
        lines = [f"Y = torch.randint(0, {CLASSES}, ({count}, 5))"]
        ignored = choices.pick("data.ignored", ("none", "-100", "0"))
        if ignored == "-100":
            lines.append("Y[torch.rand(Y.shape) > 0.6] = -100")
        return lines
    if choices.chance("data.imbalanced", 0.3):
        return [f"Y = (torch.rand({count}) * 1.25).long() * 2"]
    return [f"Y = torch.randint(0, {CLASSES}, ({count},))"]
