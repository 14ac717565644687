"""Samples that training collects: what is made of them is that of one process's share."""

from __future__ import annotations

import pytest
from test_kept_samples import warnings

COLLECT = {
    "state": "import csv, json\nfrom statistics import median\nguesses, labels = [], []",
    "after": "guesses.extend(each.tolist())\nlabels += y.tolist()",
}


@pytest.mark.parametrize(
    "parts",
    [
        {"epoch": "print(median(guesses))"},
        {"epoch": "print(sum(a == b for a, b in zip(guesses, labels)) / len(labels))"},
        {"epoch": "print(max(guesses))"},
        {"epoch": "json.dump(labels, open('labels.json', 'w'))"},
        {"epoch": "score = median(guesses)\nif score > 0.5:\n    torch.save(model, 'best.pt')"},
        {"after": "guesses.append(each)", "epoch": "torch.save(torch.cat(guesses), 'each.pt')"},
        {"after": "for a, b in zip(each.tolist(), y.tolist()):\n    print(a, b)"},
        {
            "state": "from skimage.metrics import peak_signal_noise_ratio",
            "after": "total = 0\nfor i in range(x.shape[0]):\n"
            "    total += peak_signal_noise_ratio(x[i, :], x[i, :])\nprint(total / x.shape[0])",
        },
    ],
)
def test_numbers_and_files_made_of_collected_samples_are_told_of(parts: dict[str, str]) -> None:
    assert "PT603" in [code for code, _ in warnings(**COLLECT | parts)]


@pytest.mark.parametrize(
    "parts",
    [
        {"epoch": "print(len(guesses))"},
        {"after": "print(each[0].item())"},
        {"after": "torch.save(x[:2], 'sample.pt')"},
        {"after": "pass", "epoch": "with torch.no_grad():\n    for a, b in loader:\n        pass"},
    ],
)
def test_a_few_samples_may_be_looked_at(parts: dict[str, str]) -> None:
    assert warnings(**COLLECT | parts) == []


HEADS = """\
from transformers import {model} as Model
model = Model.from_pretrained("small")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"""


@pytest.mark.parametrize(
    ("model", "loss", "told"),
    [
        ("AutoModelForCausalLM", "loss = model(**batch).loss", True),
        ("GPT2LMHeadModel", "loss = model(**batch)[0]", True),
        ("BertForSequenceClassification", "loss = model(x, labels=y)[0]", True),
        ("BertForSequenceClassification", "loss, logits = model(x, labels=y)", True),
        ("BertModel", "loss = F.cross_entropy(model(**batch)[0], y)", False),
        ("BertForSequenceClassification", "loss = F.cross_entropy(model(x)[0], y)", False),
    ],
)
def test_losses_that_models_of_a_library_compute_are_told_of(
    model: str, loss: str, told: bool
) -> None:
    found = warnings(
        state=HEADS.format(model=model),
        before='batch = {"input_ids": x, "labels": y}\nother = dict(batch)',
        after=f"batch = {{key: one.to('cpu') for key, one in other.items()}}\n{loss}\n"
        "loss.backward()\noptimizer.step()",
    )
    assert ("PT403" in [code for code, _ in found]) == told
