"""What a program calls its things."""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices

SPELLINGS = {
    "model": ("model", "net", "network", "clf", "m"),
    "optimizer": ("optimizer", "opt", "optim", "sgd"),
    "loader": ("train_loader", "loader", "dl", "data_loader", "batches"),
    "val_loader": ("val_loader", "valid_dl", "test_loader", "dev"),
    "x": ("x", "inputs", "xb", "data", "batch_x", "features"),
    "y": ("y", "target", "labels", "yb", "t"),
    "out": ("out", "logits", "pred", "output", "scores"),
    "loss": ("loss", "l", "total_loss", "err"),
    "epoch": ("epoch", "ep", "e", "epoch_idx"),
    "index": ("i", "step", "batch_idx", "it"),
    "hidden": ("h", "x", "z", "feat"),
    "dataset": ("train_set", "ds", "train_ds", "dataset"),
}


@dataclass
class Names:
    """The names of one program; functions and classes may have others for the same things."""

    model: str
    optimizer: str
    loader: str
    val_loader: str
    x: str
    y: str
    out: str
    loss: str
    epoch: str
    index: str
    hidden: str
    dataset: str
    nn: str = "nn"
    functional: str = "F"


def names_of(choices: Choices) -> Names:
    """Names that do not clash with each other."""
    drawn: dict[str, str] = {}
    for role, options in SPELLINGS.items():
        free = [option for option in options if option not in drawn.values() or role == "hidden"]
        drawn[role] = choices.pick(f"name.{role}", free, (3,))
    return Names(**drawn)
