"""Losses that a model is part of on some paths only: where the batch decides, all must agree."""

from __future__ import annotations

import pytest
from small_scripts import converted, findings, script

START = "model.bias.data.zero_()"


def text_of(batch: str) -> str:
    """A script whose steps take their losses from what the batch picks."""
    return script(
        model=f"optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{START}",
        epoch="for x, y in loader:\n    error = (model(x) - y) ** 2\n    picked = y[:, 0] > 0\n    "
        + batch.replace("\n", "\n    ")
        + "\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()",
    )


@pytest.mark.parametrize(
    ("batch", "line"),
    [
        (
            "loss = error[picked].mean() if picked.any() else torch.zeros(1, requires_grad=True)",
            "loss = selected_mean(error[picked]) if any_rank(picked.any()) else "
            "torch.zeros(1, requires_grad=True)",
        ),
        (
            "loss = error[picked].mean() if picked.any() else error.sum() * 0",
            "loss = selected_mean(error[picked]) if any_rank(picked.any()) else error.sum() * 0",
        ),
        (
            "loss = torch.zeros(1, requires_grad=True)\nchosen = error[picked]\n"
            "if len(chosen):\n    loss = loss + chosen.mean()",
            "if reduce_number(len(chosen)) * get_world_size():",
        ),
        (
            "chosen = error[picked]\nif chosen.size(0) > 0:\n    loss = chosen.mean()\n"
            "else:\n    loss = torch.zeros(1, requires_grad=True)",
            "if reduce_number(chosen.size(0)) * get_world_size() > 0:",
        ),
        (
            "chosen = error[picked]\nif chosen.shape[0]:\n    loss = chosen.mean()\n"
            "else:\n    loss = 0 * error.sum()",
            "if reduce_number(chosen.shape[0]) * get_world_size():",
        ),
    ],
)
def test_all_take_part_where_any_has_samples(batch: str, line: str) -> None:
    # Long lines are split, which changes nothing about what they say.
    text = "".join(converted(text_of(batch)).text.split())
    assert "".join(line.split()) in text.replace(",)", ")")
    assert not findings(text_of(batch), "PT403")
    assert not findings(text_of(batch), "PT712")


@pytest.mark.parametrize(
    "batch",
    [
        "loss = error[picked].sum() if picked.any() else torch.zeros(1, requires_grad=True)",
        "loss = error[picked].mean(0)[0] if picked.any() else torch.zeros(1, requires_grad=True)",
        "loss = torch.ones(1, requires_grad=True)\nif y.max() > 1:\n    loss = loss + error.mean()",
        "losses = []\nif y.max() > 1:\n    losses.append(error.mean())\nloss = sum(losses)",
    ],
)
def test_a_loss_without_the_model_on_one_process_is_refused(batch: str) -> None:
    assert findings(text_of(batch), "PT712")


@pytest.mark.parametrize(
    "batch",
    [
        "loss = error.mean() if epoch else torch.zeros(1, requires_grad=True)",
        "loss = error.mean()\nif y.max() > 1:\n    loss = loss + 0.1 * error.mean()",
        "loss = torch.zeros(1, requires_grad=True)\nfor part in (1, 2):\n"
        "    loss = loss + part * error.mean()",
        "loss = error.mean() if len(x) > 1 else torch.zeros(1, requires_grad=True)",
    ],
)
def test_what_all_decide_alike_is_left_as_it_is(batch: str) -> None:
    assert not findings(text_of(batch), "PT712")
    assert "any_rank(" not in converted(text_of(batch)).text


KEPT = """\
if scale is None:
    scale = loss.detach()
else:
    scale = 0.9 * scale + 0.1 * loss.detach()
"""


@pytest.mark.parametrize(
    ("batch", "asked"),
    [
        (f"loss = error.mean()\n{KEPT}loss = loss / (scale + 1)", False),
        (
            "loss = error.mean()\n"
            "scale = loss.detach() if scale is None else 0.9 * scale + 0.1 * loss.detach()\n"
            "loss = loss / (scale + 1)",
            False,
        ),
        (
            "loss = error.mean()\nif y.max() > 1:\n    scale = loss.detach()\n"
            "loss = loss if scale is None else loss / 2",
            True,
        ),
        (
            "loss = error.mean()\nscale = loss.detach() if y.max() > 1 else None\n"
            "if scale is not None:\n    loss = loss / 2",
            True,
        ),
        ("loss = error.mean()\nloss = loss if y.max() > 1 else loss / 2", True),
    ],
)
def test_whether_something_was_set_asks_for_no_sample(batch: str, asked: bool) -> None:
    """Where a share decides that it is set, it does."""
    source = text_of(batch).replace("    for epoch in", "    scale = None\n    for epoch in", 1)
    assert bool(findings(source, "PT417")) is asked
