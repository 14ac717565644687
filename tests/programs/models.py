"""Models in the ways in which people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .choices import Choices
from .layers import Layer
from .names import Names
from .text import marked


@dataclass
class Model:
    """A model: where it is defined, and how it is made."""

    definition: list[str]
    made: str
    result: str = "plain"
    layers: list[Layer] = field(default_factory=list)


def build(choices: Choices, names: Names, layers: list[Layer], outputs: str, title: str) -> Model:
    """A model in one of the ways in which people write one."""
    head = Layer(
        (("head", f"nn.Linear({layers[-1].size}, {outputs})"),), ("h = M.head(h)",), "head", 0
    )
    layers = [*layers, head]
    styles = ["class", "class_stack", "class_list"]
    if all(layer.module for layer in layers):
        styles = ["sequential", *styles, "sequential_list", "function"]
    style = choices.pick("model.style", styles)
    if style == "sequential":
        modules = ", ".join(layer.module for layer in layers)
        return Model([], f"nn.Sequential({modules})", layers=layers)
    if style == "sequential_list":
        lines = ["layers = []", *[f"layers.append({layer.module})" for layer in layers]]
        return Model(lines, "nn.Sequential(*layers)", layers=layers)
    if style == "function":
        lines = ["def build_model():", "    return nn.Sequential("]
        lines += [f"        {layer.module}," for layer in layers]
        return Model([*lines, "    )", "", ""], "build_model()", layers=layers)
    return _class(choices, names, layers, style, title)


def _class(choices: Choices, names: Names, layers: list[Layer], style: str, title: str) -> Model:
    hidden = names.hidden
    result = choices.pick("model.result", ("plain", "tuple", "dict"), (6, 1, 1))
    lines = [f"class {title}(nn.Module):", "    def __init__(self):"]
    start = choices.pick("model.super", ("super().__init__()", f"super({title}, self).__init__()"))
    lines.append(f"        {start}")
    stacked = [layer for layer in layers if layer.module] if style != "class" else []
    if len(stacked) < len(layers):
        # Only what stands together at the end can be one stack.
        stacked = []
        for layer in reversed(layers):
            if not layer.module or style == "class":
                break
            stacked.insert(0, layer)
    for layer in layers:
        if not any(layer is other for other in stacked):
            lines += marked(
                layer.construct, (f"        self.{name} = {made}" for name, made in layer.make)
            )
    if stacked:
        kind = "nn.Sequential" if style == "class_stack" else "nn.ModuleList"
        opening, closing = ("(", ")") if style == "class_stack" else ("([", "])")
        lines.append(f"        self.stack = {kind}{opening}")
        for layer in stacked:
            lines += marked(layer.construct, [f"            {layer.module},"])
        lines.append(f"        {closing}")
    lines += ["", f"    def forward(self, {names.hidden}):"]
    if any("raw" in line for layer in layers for line in layer.apply):
        lines.append(f"        raw = {hidden}")
    feature = None
    for layer in layers:
        if any(layer is other for other in stacked):
            break
        if layer is layers[-1] and result != "plain":
            feature = True
            lines.append(f"        feats = {hidden}")
        lines += marked(layer.construct, (f"        {_own(line, hidden)}" for line in layer.apply))
    if stacked and style == "class_stack":
        lines.append(f"        {hidden} = self.stack({hidden})")
    elif stacked:
        lines += ["        for layer in self.stack:", f"            {hidden} = layer({hidden})"]
    extra = "feats" if feature else hidden
    lines += {
        "plain": [f"        return {hidden}"],
        "tuple": [f"        return {hidden}, {extra}"],
        "dict": [f'        return {{"out": {hidden}, "feats": {extra}}}'],
    }[result]
    return Model([*lines, "", ""], f"{title}()", result, layers)


def _own(line: str, hidden: str) -> str:
    """A line of a layer within a class, with the program's name for the hidden value."""
    return re.sub(r"\bh\b", hidden, line.replace("M.", "self.").replace("M,", "self,"))
