"""Models of transformers that compute their loss train with several processes as with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Level, Result
from transpile import convert as automatic
from transpile.verify import Auditor
from transpile.verify.table import format_report

#: What stands in for the library, which the tests do without.
LIBRARY = """\
import torch
from torch import nn


class Output(dict):
    def __getattr__(self, name):
        return self[name]

    def __getitem__(self, key):
        if isinstance(key, str):
            return super().__getitem__(key)
        return list(self.values())[key]


class Model(nn.Module):
    shift = False

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Embedding(9, 6), nn.Linear(6, 9)

    def forward(self, input_ids, labels=None):
        logits = self.head(self.body(input_ids))
        if labels is None:
            return Output(logits=logits)
        pairs = (logits[:, :-1], labels[:, 1:]) if self.shift else (logits, labels)
        if labels.dim() == 1:
            pairs = (logits.mean(1), labels)
        scores, targets = pairs
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), targets.reshape(-1))
        return Output(loss=loss, logits=logits)


class GPT2LMHeadModel(Model):
    shift = True


class BertForTokenClassification(Model):
    pass


class BertForSequenceClassification(Model):
    pass


class SomethingForPreTraining(Model):
    pass
"""
SCRIPT = """\
import torch
from torch.utils.data import DataLoader
from transformers import {model} as Model

torch.manual_seed(0)
rows = []
for place in range(36):
    ids = torch.randint(0, 9, (7,))
    labels = ids.clone()
    labels[place % 6 + 1:] = -100
    rows.append(dict(input_ids=ids, labels={labels}))
loader = DataLoader(rows, batch_size=12)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    for batch in loader:
        ids, labels = batch["input_ids"], batch["labels"]
        {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
torch.save(model.state_dict(), "model.pt")
"""
SHIFTED, PLAIN = "GPT2LMHeadModel", "BertForTokenClassification"
WAYS = (
    "loss = model(**batch).loss",
    "loss = model(ids, labels=labels)[0]",
    "loss, logits = model(input_ids=ids, labels=labels)[:2]",
    "loss = model(ids, labels=labels)['loss'] / 2",
)


def script(model: str, labels: str, loss: str) -> str:
    """A script that trains a model of the library."""
    return SCRIPT.format(model=model, labels=labels, loss=loss)


def warnings(result: Result) -> list[str]:
    """What is warned of or refused."""
    return [one.code for one in result.findings if one.level is not Level.NOTE]


@pytest.mark.parametrize(
    ("model", "loss"),
    [(SHIFTED, WAYS[0]), (SHIFTED, WAYS[1]), (PLAIN, WAYS[2]), (PLAIN, WAYS[3])],
)
def test_a_mean_over_labels_is_weighed_by_their_number(
    model: str, loss: str, tmp_path: Path, auditor: Auditor
) -> None:
    text = script(model, "labels", loss)
    result = automatic(text, path="train.py")
    assert warnings(result) == [] and "weigh_loss_by_labels" in result.text
    assert trains_alike(text, result, tmp_path, auditor)


def test_a_process_may_have_no_label(tmp_path: Path, auditor: Auditor) -> None:
    text = script(PLAIN, "labels", WAYS[0])
    text = text.replace("labels[place % 6 + 1:]", "labels[place % 2 * 3:]")
    assert trains_alike(text, automatic(text, path="train.py"), tmp_path, auditor)


def test_a_mean_over_samples_stays_as_it_is(tmp_path: Path, auditor: Auditor) -> None:
    text = script("BertForSequenceClassification", "ids[0]", WAYS[0])
    result = automatic(text, path="train.py")
    assert warnings(result) == [] and "weigh_loss" not in result.text
    assert trains_alike(text, result, tmp_path, auditor)


def test_what_another_head_computes_is_not_known() -> None:
    text = script("SomethingForPreTraining", "labels", WAYS[0])
    assert "PT403" in warnings(convert(text, path="train.py"))


def trains_alike(text: str, result: Result, folder: Path, auditor: Auditor) -> bool:
    """Whether the output trains with 1, 2 and 3 processes as the script does."""
    (folder / "transformers.py").write_text(LIBRARY, "utf-8")
    original, output = folder / "train.py", folder / "train_dist.py"
    original.write_text(text, "utf-8")
    output.write_text(result.text, "utf-8")
    report = auditor.audit(
        original,
        output,
        world_sizes=(1, 2, 3),
        tolerance=1e-5,
        printed_numbers=True,
        timeout_seconds=90,
    )
    assert report.passed, format_report(report)
    return True
