"""Losses out of random reductions, masks, weights, guards and penalties.

In the tables lines give ``L`` from the outputs ``O``, the targets ``Y``, the inputs ``X`` and the
model ``M``; what is defined before the loop stands behind ``|``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .choices import Choices
from .class_losses import CLASSES
from .text import marked
from .value_losses import VALUES

MULTILABEL = {
    "bce": ["L = F.binary_cross_entropy_with_logits(O, Y)"],
    "bce_module": ["|criterion = nn.BCEWithLogitsLoss()", "L = criterion(O, Y)"],
    "bce_pos_weight": [
        "|criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0, 1.0, 3.0, 1.0]))",
        "L = criterion(O, Y)",
    ],
    "bce_batch_pos_weight": [
        "pw = (1 - Y).sum(0) / Y.sum(0).clamp(min=1)",
        "L = F.binary_cross_entropy_with_logits(O, Y, pos_weight=pw)",
    ],
    "bce_sum": ["L = F.binary_cross_entropy_with_logits(O, Y, reduction='sum')"],
    "bce_sum_rows": [
        "L = F.binary_cross_entropy_with_logits(O, Y, reduction='none').sum(1).mean()",
    ],
    "bce_positives": [
        "ls = F.binary_cross_entropy_with_logits(O, Y, reduction='none')",
        "L = ls[Y == 1].mean() + ls[Y == 0].mean()",
    ],
    "bce_by_positives": [
        "ls = F.binary_cross_entropy_with_logits(O, Y, reduction='none')",
        "L = ls.sum() / max(1.0, Y.sum().item())",
    ],
    "sigmoid": ["L = F.binary_cross_entropy(torch.sigmoid(O), Y)"],
    "sigmoid_clamped": ["p = torch.sigmoid(O).clamp(1e-4, 1 - 1e-4)", "L = nn.BCELoss()(p, Y)"],
    "by_hand": ["p = torch.sigmoid(O)", "L = -(Y * p.log() + (1 - Y) * (1 - p).log()).mean()"],
    "dice": ["p = O.sigmoid()", "L = 1 - (2 * (p * Y).sum() + 1) / (p.sum() + Y.sum() + 1)"],
    "dice_rows": [
        "p = O.sigmoid()",
        "L = 1 - ((2 * (p * Y).sum(1) + 1) / (p.sum(1) + Y.sum(1) + 1)).mean()",
    ],
    "dice_columns": [
        "p = O.sigmoid()",
        "L = 1 - ((2 * (p * Y).sum(0) + 1) / (p.sum(0) + Y.sum(0) + 1)).mean()",
    ],
    "tversky": [
        "p = O.sigmoid()",
        "tp, fp, fn = (p * Y).sum(), (p * (1 - Y)).sum(), ((1 - p) * Y).sum()",
        "L = 1 - tp / (tp + 0.3 * fp + 0.7 * fn + 1e-6)",
    ],
    "iou": [
        "p = O.sigmoid()",
        "i = (p * Y).sum(-1)",
        "L = (1 - i / (p.sum(-1) + Y.sum(-1) - i + 1e-6)).mean()",
    ],
    "soft_margin": ["L = F.multilabel_soft_margin_loss(O, Y)"],
    "hinge": ["L = F.relu(1 - (2 * Y - 1) * O).mean()"],
    "asymmetric": [
        "p = torch.sigmoid(O)",
        "L = -(Y * torch.log(p) * (1 - p) + (1 - Y) * torch.log(1 - p) * p ** 2).sum()",
    ],
    "mean_rate": [
        "L = F.binary_cross_entropy_with_logits(O, Y) + (O.sigmoid().mean(0) - 0.4).abs().sum()",
    ],
    "weight_argument": [
        "L = F.binary_cross_entropy_with_logits(O, Y, weight=1 + Y)",
    ],
    "ignore_uncertain": [
        "sure = ((O.sigmoid() - 0.5).abs() > 0.05).double().detach()",
        "ls = F.binary_cross_entropy_with_logits(O, Y, reduction='none')",
        "L = (ls * sure).sum() / (sure.sum() + 1)",
    ],
}

TAGS = {
    "flat": ["L = F.cross_entropy(O.reshape(-1, 3), Y.reshape(-1).clamp(min=0))"],
    "flat_ignored": ["L = F.cross_entropy(O.view(-1, 3), Y.view(-1))"],
    "transposed": [
        "|criterion = nn.CrossEntropyLoss(ignore_index=-100)",
        "L = criterion(O.transpose(1, 2), Y)",
    ],
    "ignored_zero": [
        "L = F.cross_entropy(O.flatten(0, 1), Y.flatten().clamp(min=0), ignore_index=0)"
    ],
    "shifted": ["L = F.cross_entropy(O[:, :-1].reshape(-1, 3), Y[:, 1:].reshape(-1))"],
    "token_mask": [
        "keep = Y != -100",
        "ls = F.cross_entropy(O.transpose(1, 2), Y.clamp(min=0), reduction='none')",
        "L = (ls * keep).sum() / keep.sum()",
    ],
    "row_mask": [
        "keep = (Y != -100).double()",
        "ls = F.cross_entropy(O.transpose(1, 2), Y.clamp(min=0), reduction='none')",
        "L = ((ls * keep).sum(1) / keep.sum(1).clamp(min=1)).mean()",
    ],
    "sum_over_batch": [
        "L = F.cross_entropy(O.transpose(1, 2), Y, reduction='sum') / Y.size(0)",
    ],
    "sum_over_tokens": [
        "n = (Y != -100).sum()",
        "L = F.cross_entropy(O.reshape(-1, 3), Y.reshape(-1), reduction='sum') / n",
    ],
    "steps": [
        "L = 0",
        "for k in range(Y.size(1)):",
        "    L += F.cross_entropy(O[:, k], Y[:, k].clamp(min=0))",
    ],
    "steps_ignored": [
        "L = 0",
        "for k in range(O.shape[1]):",
        "    L = L + F.cross_entropy(O[:, k], Y[:, k], reduction='sum')",
        "L = L / (Y >= 0).sum()",
    ],
    "active": [
        "active = Y.view(-1) >= 0",
        "L = F.cross_entropy(O.view(-1, 3)[active], Y.view(-1)[active])",
    ],
    "perplexity": ["L = torch.exp(F.cross_entropy(O.reshape(-1, 3), Y.reshape(-1).clamp(min=0)))"],
}

KINDS = {
    "classes": CLASSES,
    "values": VALUES,
    "multilabel": MULTILABEL,
    "tags": TAGS,
    "same": VALUES,
}

#: Terms that are added: lines that give ``P``, from ``O``, ``X`` and the model ``M``.
PENALTIES = {
    "l2": ["P = 1e-3 * sum(p.pow(2).sum() for p in M.parameters())"],
    "l1": ["P = 1e-3 * sum(p.abs().sum() for p in M.parameters() if p.dim() > 1)"],
    "l2_loop": [
        "P = 0.0",
        "for name, p in M.named_parameters():",
        "    if 'bias' not in name:",
        "        P = P + 1e-3 * torch.norm(p)",
    ],
    "activity": ["P = 1e-2 * O.pow(2).mean()"],
    "activity_sum": ["P = 1e-3 * O.pow(2).sum()"],
    "activity_rows": ["P = 1e-2 * O.norm(dim=-1).mean()"],
    "activity_norm": ["P = 1e-2 * O.norm()"],
    "mean_output": ["P = 1e-1 * O.mean(0).pow(2).sum()"],
    "spread": ["P = 1e-1 * F.relu(1 - O.std(dim=0)).mean()"],
    "abs_mean": ["P = 1e-1 * O.mean().abs()"],
    "input_gradient": [
        "P = 1e-1 * torch.autograd.grad(O.sum(), X, create_graph=True)[0].pow(2).sum(1).mean()",
    ],
    "guarded": ["P = 0.1 * torch.clamp(O.pow(2).mean(), min=0.05)"],
    "last_weight": ["P = 1e-2 * list(M.parameters())[-2].pow(2).mean()"],
    "scheduled": ["P = 1e-2 * (1 + T) * O.abs().mean()"],
}


@dataclass
class Loss:
    """How a program computes its loss."""

    before: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def loss_of(choices: Choices, kind: str, plain_input: bool) -> Loss:
    """A random loss for a kind of target.

    Args:
        choices: the program's choices.
        kind: the kind of target.
        plain_input: whether a gradient can be taken to the input, which has one row of features.
    """
    table = KINDS[kind]
    which = choices.pick(f"loss.{kind}", list(table), (6, 3))
    loss = Loss()
    lines = table[which]
    if any("R" in line.split("reduction=")[-1] for line in lines if "reduction=R" in line):
        reduction = choices.pick("loss.reduction", ("'mean'", "'sum'"))
        lines = [line.replace("reduction=R", f"reduction={reduction}") for line in lines]
    construct = f"loss.{kind}={which}"
    loss.before = marked(construct, (line[1:] for line in lines if line.startswith("|")))
    loss.lines = marked(construct, (line for line in lines if not line.startswith("|")))
    penalties = [name for name in PENALTIES if plain_input or name != "input_gradient"]
    if choices.chance("loss.penalised", 0.2):
        name = choices.pick("loss.penalty", penalties)
        loss.lines += marked(f"loss.penalty={name}", [*PENALTIES[name], "L = L + P"])
    return loss
