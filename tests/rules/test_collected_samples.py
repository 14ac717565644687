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
    "taken",
    [
        "guesses += [each for each in y.tolist() if each > 1]",
        "guesses.extend(each for each in y.tolist() if each > 1)",
        "guesses.extend(list(each for each in y.tolist() if each > 1))",
        "guesses = guesses + [each for each in y.tolist() if each > 1]",
        "guesses = [*guesses, *(each for each in y.tolist() if each > 1)]",
        "guesses += filter(None, y.tolist())",
    ],
)
def test_how_many_are_picked_is_told_of(taken: str) -> None:
    assert [code for code, _ in warnings(**COLLECT | {"after": taken, "epoch": COUNTED})] == [
        "PT603"
    ]


@pytest.mark.parametrize("made", ["deque(maxlen=30)", "deque([], 30)"])
def test_how_many_fit_into_a_deque_is_told_of(made: str) -> None:
    parts = COLLECT | {"state": f"from collections import deque\nguesses = {made}"}
    found = warnings(**parts | {"after": "guesses.extend(y.tolist())", "epoch": COUNTED})
    assert [code for code, _ in found] == ["PT603"]


@pytest.mark.parametrize(
    "made", ["[float(v) for v in y]", "[int(v) for v in y if v > 0]", "y[0].item()", "(x[0], y[0])"]
)
def test_the_number_of_lists_of_samples_is_not_known(made: str) -> None:
    found = warnings(**COLLECT | {"after": f"guesses.append({made})", "epoch": COUNTED})
    assert [code for code, _ in found] == ["PT603"]


@pytest.mark.parametrize("made", ["one.item()", "(one, other)", "(one.item(), int(other))"])
def test_the_number_of_what_is_kept_of_each_sample_is_added_up(made: str) -> None:
    after = f"for one, other in zip(x, y):\n    guesses.append({made})"
    assert warnings(**COLLECT | {"after": after, "epoch": COUNTED}) == []


def test_the_number_of_tensors_is_that_of_the_batches() -> None:
    assert warnings(**COLLECT | {"after": "guesses.append(y.clone())", "epoch": COUNTED}) == []


COUNTED = "print(len(guesses))"


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
        ("BertForPreTraining", "loss = model(**batch).loss", True),
        ("BertForPreTraining", "loss = model(**batch)[0]", True),
        ("T5Something", "loss, logits = model(x, labels=y)", True),
        ("AutoModelForCausalLM", "loss = model(**batch).loss", False),
        ("GPT2LMHeadModel", "loss = model(**batch)[0]", False),
        ("BertForSequenceClassification", "loss, logits = model(x, labels=y)", False),
        ("BertModel", "loss = F.cross_entropy(model(**batch)[0], y)", False),
        ("BertForSequenceClassification", "loss = F.cross_entropy(model(x)[0], y)", False),
    ],
)
def test_losses_that_models_of_a_library_compute_are_told_of_unless_they_are_known(
    model: str, loss: str, told: bool
) -> None:
    found = warnings(
        state=HEADS.format(model=model),
        before='batch = {"input_ids": x, "labels": y}\nother = dict(batch)',
        after=f"batch = {{key: one.to('cpu') for key, one in other.items()}}\n{loss}\n"
        "loss.backward()\noptimizer.step()",
    )
    assert ("PT403" in [code for code, _ in found]) == told
