"""Every loss of torch.nn, in every reduction, trains with several processes as with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_scripts import converted

from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(72, 4)
y = torch.randint(0, 3, (72,))
place = torch.arange(72) % 12
reals = torch.randn(72, 3)
likely = torch.softmax(torch.randn(72, 3), 1)
yes = (torch.rand(72, 3) < 0.4).to(x.dtype)
yes[place < 4] = 0
signs = torch.where(place < 5, 1, -1)
loader = DataLoader(TensorDataset(x, y, reals, likely, yes, signs), batch_size=12)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
weights = torch.tensor([0.2, 1.0, 3.0])
{setup}
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for epoch in range(2):
    for x, y, reals, likely, yes, signs in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = {loss}
        loss.backward()
        optimizer.step()
    print("epoch", epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
"""
#: Class to function and the tensors that it compares.
LOSSES = {
    "CrossEntropyLoss": ("cross_entropy", "out, y"),
    "NLLLoss": ("nll_loss", "F.log_softmax(out, 1), y"),
    "BCELoss": ("binary_cross_entropy", "torch.sigmoid(out), yes"),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", "out, yes"),
    "MSELoss": ("mse_loss", "out, reals"),
    "L1Loss": ("l1_loss", "out, reals"),
    "SmoothL1Loss": ("smooth_l1_loss", "out, reals"),
    "HuberLoss": ("huber_loss", "out, reals"),
    "KLDivLoss": ("kl_div", "F.log_softmax(out, 1), likely"),
    "PoissonNLLLoss": ("poisson_nll_loss", "out, yes"),
    "GaussianNLLLoss": ("gaussian_nll_loss", "out, reals, likely"),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", "out[:, 0], signs"),
    "MarginRankingLoss": ("margin_ranking_loss", "out[:, 0], out[:, 1], signs"),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", "out, reals, signs"),
    "TripletMarginLoss": ("triplet_margin_loss", "out, reals, yes"),
    "TripletMarginWithDistanceLoss": ("triplet_margin_with_distance_loss", "out, reals, yes"),
    "SoftMarginLoss": ("soft_margin_loss", "out[:, 0], signs"),
    "MultiMarginLoss": ("multi_margin_loss", "out, y"),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", "out, y.unsqueeze(1).repeat(1, 3)"),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", "out, yes"),
}
#: Settings that make a mean another one, or seem to.
SETTINGS = (
    "F.cross_entropy(out, y, weights)",
    "F.cross_entropy(out, y, ignore_index=0)",
    "F.cross_entropy(out, y, label_smoothing=0.1)",
    "F.cross_entropy(out, y, weights, ignore_index=1, label_smoothing=0.1)",
    "F.cross_entropy(out, likely)",
    "F.nll_loss(F.log_softmax(out, 1), y, weights)",
    "F.binary_cross_entropy_with_logits(out, yes, pos_weight=weights)",
    "F.binary_cross_entropy(torch.sigmoid(out), yes, weights)",
    "F.kl_div(F.log_softmax(out, 1), likely, reduction='batchmean')",
    "F.kl_div(F.log_softmax(out, 1), likely, reduction='sum') / out.shape[0]",
    "F.cross_entropy(out, y, weights, reduction='sum') / weights[y].sum()",
    "F.cross_entropy(out, y, ignore_index=0, reduction='sum') / (y != 0).sum().item()",
    "(F.mse_loss(out, reals, reduction='none') * yes).sum() / (yes.sum() + 1e-6)",
)
#: Losses whose share of a batch says something else: a warning has to say so.
WARNED = {
    "weight of positives counted in the batch": (
        "F.binary_cross_entropy_with_logits(out, yes, pos_weight=(1 - yes).sum() / (yes.sum() + 1))"
    ),
    "weights of classes counted in the batch": (
        "F.cross_entropy(out, y, weight=1 / (torch.bincount(y, minlength=3).to(x.dtype) + 1))"
    ),
    "rounded number of positives": (
        "F.mse_loss(out, reals, reduction='sum') / max(1, int(yes.sum().item()))"
    ),
    "samples in another order": "F.triplet_margin_loss(out, reals, reals.flip(0))",
    "samples rolled on": "F.mse_loss(out, reals.roll(1, 0))",
    "kinds of targets counted": "F.cross_entropy(out, y) * len(torch.unique(y))",
    "sample after sample": (
        "sum(F.cross_entropy(o[None], t[None]) for o, t in zip(out, y)) / len(y)"
    ),
    "slice after slice": (
        "sum(F.cross_entropy(out[j : j + 1], y[j : j + 1]) for j in range(len(y)))"
    ),
    "distances within the batch": "torch.cdist(out, out).mean()",
    "root of a mean": "torch.sqrt(F.mse_loss(out, reals))",
    "statistics of the batch": "F.mse_loss(out, reals) + out.std(0).mean()",
    "overlap of the batch": "1 - 2 * (out * yes).sum() / (out.pow(2).sum() + yes.sum())",
    "hardest samples": "F.cross_entropy(out, y, reduction='none').topk(4)[0].mean()",
    "mean over classes": "(out * F.one_hot(y, 3)).sum(0).div(F.one_hot(y, 3).sum(0) + 1).max()",
}


def as_objects(reduction: str) -> tuple[str, str]:
    """What makes all losses as objects, and their sum."""
    made = [f"loss_{i} = nn.{name}(reduction={reduction!r})" for i, name in enumerate(LOSSES)]
    mean = ".mean()" if reduction == "none" else ""
    terms = [f"loss_{i}({given}){mean}" for i, (_, given) in enumerate(LOSSES.values())]
    return "\n".join(made), " + ".join(terms)


def as_functions(reduction: str) -> tuple[str, str]:
    """Nothing to make, and the sum of all losses as functions."""
    mean = ".sum() / x.size(0)" if reduction == "none" else ""
    terms = [f"F.{word}({given}, reduction={reduction!r}){mean}" for word, given in LOSSES.values()]
    return "", " + ".join(terms)


ALL = {
    **{f"objects, {word}": as_objects(word) for word in ("mean", "sum", "none")},
    **{f"functions, {word}": as_functions(word) for word in ("mean", "sum", "none")},
    "settings": ("", " + ".join(SETTINGS)),
}


@pytest.mark.parametrize("name", ALL)
def test_sum_of_all_losses(auditor: Auditor, tmp_path: Path, name: str) -> None:
    setup, loss = ALL[name]
    rate = 0.0005 if "sum" in name else 0.01
    text = SCRIPT.format(setup=setup, loss=loss, rate=rate)
    script, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    script.write_text(text)
    result = converted(text)
    assert not [finding for finding in result.findings if finding.level.name != "NOTE"]
    output.write_text(result.text)
    report = auditor.audit(
        script, output, world_sizes=(1, 2, 3), tolerance=1e-5, printed_numbers=True
    )
    assert report.passed, format_report(report)


@pytest.mark.parametrize("name", WARNED)
def test_losses_of_one_share_are_warned_of(name: str) -> None:
    found = converted(SCRIPT.format(setup="", loss=WARNED[name], rate=0.01)).findings
    assert "PT403" in {finding.code for finding in found}
