"""Numbers from training batches are reported as those of the global batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_way import convert
from single_rule import Made, made, plan_of

from transpile import Verdict
from transpile.rules.pytorch.effects._once import VOCABULARY, once_of
from transpile.rules.pytorch.losses import reduce_reported_numbers
from transpile.rules.pytorch.losses._reported import reported

SCRIPT = """\
import csv
import json
import logging
import math
import sys
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
{top}

START = True
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)),
                    batch_size=12)
valid = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)))
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total, seen, right, history = 0.0, 0, 0, []
{before}
for i, (x, y, m) in enumerate(loader):
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
    {body}
{after}
"""


def script(body: str, after: str = "", before: str = "", top: str = "") -> str:
    body = body.replace("\n", "\n    ")
    return SCRIPT.format(body=body, after=after, before=before, top=top)


def numbers(body: str, after: str = "", before: str = "", top: str = "") -> Made:
    return made(reduce_reported_numbers, script(body, after, before, top))


def check_twice(first: Made) -> None:
    """On its own output the rule has nothing to do."""
    again = made(reduce_reported_numbers, first.after)
    assert {verdict for _, verdict in again.verdicts} <= {Verdict.ALREADY_DONE}
    assert [code for code, _ in again.remarks if code != "PT604"] == []
    assert again.after == first.after


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("print(loss.item())", "loss_mean = reduce_mean(loss); print(loss_mean.item())"),
        ("print('loss', float(loss))",
         "loss_mean = reduce_mean(loss); print('loss', float(loss_mean))"),
        ("print('%.3f' % loss.item())",
         "loss_mean = reduce_mean(loss); print('%.3f' % loss_mean.item())"),
        ("print('%d %.3f' % (i, loss.item()))",
         "loss_mean = reduce_mean(loss); print('%d %.3f' % (i, loss_mean.item()))"),
        ("print('{} {:.3f}'.format(i, loss))",
         "loss_mean = reduce_mean(loss); print('{} {:.3f}'.format(i, loss_mean))"),
        ("print(f'{i} {loss:.4f}')",
         "loss_mean = reduce_mean(loss); print(f'{i} {loss_mean:.4f}')"),
        ("print('loss ' + str(loss.item()))",
         "loss_mean = reduce_mean(loss); print('loss ' + str(loss_mean.item()))"),
        ("print(loss)", "loss_mean = reduce_mean(loss); print(loss_mean)"),
        ("print(loss / 2)", "loss_mean = reduce_mean(loss / 2); print(loss_mean)"),
        ("print(loss.data.cpu().numpy())",
         "loss_mean = reduce_mean(loss); print(loss_mean.data.cpu().numpy())"),
        ("print(loss.detach().item() * 2)",
         "loss_mean = reduce_mean(loss); print(loss_mean.detach().item() * 2)"),
        ("logging.info('%f', loss.item())", "logging.info('%f', reduce_mean(loss).item())"),
        ("sys.stdout.write(str(loss.item()))", "sys.stdout.write(str(reduce_mean(loss).item()))"),
        ("print(math.exp(loss.item()))",
         "loss_mean = reduce_mean(loss); print(math.exp(loss_mean.item()))"),
        ("print(round(loss.item(), 3))",
         "loss_mean = reduce_mean(loss); print(round(loss_mean.item(), 3))"),
        ("print((out * 2).sum().item())",
         "out_sum = reduce_sum((out * 2).sum()); print(out_sum.item())"),
        ("print((out.argmax(1) == y).sum())",
         "out_sum = reduce_sum((out.argmax(1) == y).sum()); print(out_sum)"),
        ("json.dump({'loss': loss.item()}, sys.stdout)",
         "json.dump({'loss': reduce_mean(loss).item()}, sys.stdout)"),
        ("csv.writer(open('x.csv', 'w')).writerow([i, loss.item()])",
         "csv.writer(open('x.csv', 'w')).writerow([i, reduce_mean(loss).item()])"),
        ("torch.save({'loss': loss}, 'x.pt')", "torch.save({'loss': reduce_mean(loss)}, 'x.pt')"),
        ("print(i * len(x))", "print(i * len(x) * get_world_size())"),
        ("print((i + 1) * x.size(0))", "print((i + 1) * x.size(0) * get_world_size())"),
        ("print(i * x.shape[0] / 48)", "print(i * x.shape[0] * get_world_size() / 48)"),
        ("print('%d' % len(x))", "print('%d' % (len(x) * get_world_size()))"),
        ("print(1 / len(x))", "print(1 / (len(x) * get_world_size()))"),
        ("print('%f' % (loss.item() / len(x)))",
         "loss_mean = reduce_mean(loss); "
         "print('%f' % (loss_mean.item() / (len(x) * get_world_size())))"),
        ("print(-len(x))", "print(-(len(x) * get_world_size()))"),
        ("print(i * loader.batch_size)", "print(i * loader.batch_size * get_world_size())"),
        ("print(100 * out.max(1)[1].eq(y).sum().item() / len(y))",
         "print(100 * reduce_mean(out.max(1)[1].eq(y).sum()).item() / len(y))"),
        ("print(100 * out.max(1)[1].eq(y).sum().item() / 12)",
         "print(100 * reduce_sum(out.max(1)[1].eq(y).sum()).item() / 12)"),
        ("print(np.mean(out.argmax(1).numpy() == y.numpy()))",
         "print(reduce_number(np.mean(out.argmax(1).numpy() == y.numpy())))"),
        ("bar.set_postfix(loss=loss.item())", "bar.set_postfix(loss=reduce_mean(loss).item())"),
        ("writer.add_scalar('loss', loss, i)", "writer.add_scalar('loss', reduce_mean(loss), i)"),
    ],
)  # fmt: skip
def test_a_number_is_reduced_where_it_leaves_the_batch(body: str, line: str) -> None:
    top = "from somewhere import bar, writer"
    found = numbers(body, top=top)
    assert "; ".join(found.new) == line
    assert found.remarks == []
    check_twice(found)


@pytest.mark.parametrize(
    ("body", "after", "lines"),
    [
        (
            "total += loss.item()",
            "print(total / len(loader))",
            ["[total] = average_numbers(total)"],
        ),
        (
            "total += loss",
            "print(total / len(loader))",
            ["print(reduce_mean(total / len(loader)))"],
        ),
        (
            "history.append(loss.item())",
            "print(sum(history) / len(history))",
            ["history[:] = average_numbers(*history)"],
        ),
        (
            "history.append(loss.item())",
            "print(np.mean(history))",
            ["history[:] = average_numbers(*history)"],
        ),
        (
            "history.append(loss)",
            "torch.save(history, 'history.pt')",
            ["history.append(reduce_mean(loss))"],
        ),
        (
            "total += loss.item() * x.size(0)\nseen += x.size(0)",
            "print(total / seen)",
            ["[total] = average_numbers(total)"],
        ),
        (
            "total += loss.item() * x.size(0)\nseen += x.size(0)",
            "print(total / seen, seen)",
            [
                "total += loss.item() * x.size(0) * get_world_size()",
                "seen += x.size(0) * get_world_size()",
                "[total] = average_numbers(total)",
            ],
        ),
        (
            "total += loss.item() * x.size(0)",
            "print(total / 48)",
            [
                "total += loss.item() * x.size(0) * get_world_size()",
                "[total] = average_numbers(total)",
            ],
        ),
        (
            "n = len(x)\ntotal += loss.item() * n\nz = torch.zeros(n)",
            "print(total / len(loader.dataset))",
            ["total += loss.item() * n * get_world_size()", "[total] = average_numbers(total)"],
        ),
        (
            "right += (out.argmax(1) == y).sum().item()\nseen += len(y)",
            "print(f'{100 * right / seen:.1f}')",
            ["[right] = average_numbers(right)"],
        ),
        (
            "right += (out.argmax(1) == y).sum().item()",
            "print(f'{100 * right / 48:.1f}')",
            ["[right] = sum_numbers(right)"],
        ),
        (
            "right += int((out.argmax(1) == y).sum())\nseen += len(y)",
            "print(right, seen)",
            ["seen += len(y) * get_world_size()", "[right] = sum_numbers(right)"],
        ),
        (
            "right += int((out.argmax(1) == y).sum())\nseen += len(y)",
            "print(right / seen)",
            ["[right] = average_numbers(right)"],
        ),
        (
            "right += (out.argmax(1) == y).sum()\nseen += len(y)",
            "print(right / seen, seen)",
            [
                "seen += len(y) * get_world_size()",
                "right_sum = reduce_sum(right / seen)",
                "print(right_sum, seen)",
            ],
        ),
        (
            "total += loss.item() * len(x)",
            "print((total / 48) ** 0.5)",
            [
                "total += loss.item() * len(x) * get_world_size()",
                "[total] = average_numbers(total)",
            ],
        ),
    ],
)
def test_totals_come_out_right(body: str, after: str, lines: list[str]) -> None:
    found = numbers(body, after)
    assert found.new == lines
    assert found.remarks == []
    check_twice(found)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("total += loss.item()", ""),
        ("print(i, len(loader), len(loader.dataset), 12 * i)", ""),
        ("print(optimizer.param_groups[0]['lr'])", ""),
        ("z = torch.zeros(x.size(0))", "print('done')"),
        ("pass", "for x, y, m in valid:\n    print(criterion(model(x), y).item(), len(x))"),
        ("print(model.weight.norm().item())", ""),
        ("print(x.size(1), out.dtype)", ""),
    ],
)
def test_what_does_not_need_it_stays(body: str, after: str) -> None:
    found = numbers(body, after)
    assert found.after == found.before
    assert found.remarks == []


METER = """
class Meter:
    def __init__(self):
        self.val = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "meter.update(loss.item(), x.size(0))\nprint(meter.avg)",
            ["meter.update(reduce_mean(loss).item(), x.size(0))"],
        ),
        (
            "meter.update(loss.item(), x.size(0))\nprint(meter.avg, meter.count)",
            ["meter.update(reduce_mean(loss).item(), x.size(0) * get_world_size())"],
        ),
        (
            "meter.update(loss, x.size(0))\nprint(meter.avg)",
            ["avg_mean = reduce_mean(meter.avg)", "print(avg_mean)"],
        ),
        (
            "meter.update(loss.item(), x.size(0))\n"
            "print('{m.val:.3f} ({m.avg:.3f})'.format(m=meter))",
            ["meter.update(reduce_mean(loss).item(), x.size(0))"],
        ),
        (
            "meter.update(loss, x.size(0))\nprint('{m.val:.3f}'.format(m=meter), meter.avg)",
            ["meter.update(reduce_mean(loss), x.size(0))"],
        ),
    ],
)
def test_numbers_that_go_through_an_object(body: str, lines: list[str]) -> None:
    found = numbers(body, before="meter = Meter()", top=METER)
    assert found.new == lines
    check_twice(found)


EPOCH = """
def run(data, training):
    total, right, seen = 0.0, 0, 0
    for x, y, m in data:
        out = model(x)
        loss = criterion(out, y)
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(x)
        right += (out.argmax(1) == y).sum().item()
        seen += len(x)
    return {result}

print(run(loader, True))
print(run(valid, False))
"""


def shared(result: str) -> Made:
    """What becomes of an epoch that both trains and evaluates."""
    return numbers("pass", EPOCH.format(result=result))


@pytest.mark.parametrize(
    "mean",
    [
        "sum(rows) / len(rows)",
        "np.mean(rows)",
        "torch.tensor(rows).mean().item()",
        "torch.tensor([float(v) for v in rows]).mean().item()",
        "torch.stack([torch.tensor(v) for v in rows]).mean().item()",
    ],
)
def test_a_count_behind_collected_numbers_is_that_of_all_processes(mean: str) -> None:
    top = "def step(x, y):\n    return criterion(model(x), y).item() / len(x)\n"
    found = numbers("rows.append(step(x, y))", f"print({mean})", "rows = []", top)
    share = "    return criterion(model(x), y).item() / (len(x) * get_world_size())"
    assert share in found.after
    assert "rows[:] = average_numbers(*rows)" in found.after


def test_ratios_are_right_in_training_and_evaluation() -> None:
    found = shared("total / seen, right / seen")
    assert found.new == [
        "total, right = average_numbers(total, right)",
    ]
    assert found.remarks == []
    check_twice(found)


def test_counts_follow_the_loader_where_training_and_evaluation_share_them() -> None:
    found = shared("total / len(data.dataset), right, seen")
    assert found.new == [
        "total += loss.item() * len(x) * shard_count(data)",
        "seen += len(x) * shard_count(data)",
        "[total] = average_numbers(total)",
        "if shard_count(data) > 1:",
        "[right] = sum_numbers(right)",
    ]
    assert found.remarks == []
    check_twice(found)


def test_counts_of_a_shared_step_are_multiplied_where_training_reports_them() -> None:
    step = """
def step(x, y):
    return (model(x).argmax(1) == y).sum().item()
"""
    after = "print(right)\nprint(sum(step(a, b) for a, b, c in valid))"
    found = numbers("right += step(x, y)", after, top=step)
    assert "    return reduce_mean((model(x).argmax(1) == y).sum()).item()" in found.after
    assert "print(right * get_world_size())" in found.new
    assert found.remarks == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("print((out @ out.t()).mean().item())", "compares the samples"),
        ("print(out.max().item())", "looks at all samples"),
        ("print(f1_score(y.tolist(), out.argmax(1).tolist()))", "nothing is known of sklearn"),
        ("print(package.score(out, y))", "nothing is known of package.score"),
    ],
)
def test_numbers_that_cannot_be_told_are_reported(body: str, reason: str) -> None:
    found = numbers(body, top="import package\nfrom sklearn.metrics import f1_score")
    assert [code for code, _ in found.remarks] == ["PT603"]
    assert reason in found.remarks[0][1]
    assert found.after == found.before


def test_samples_that_are_shown_get_a_note() -> None:
    found = numbers("torch.save(out[:4], 'x.pt')\nprint(y)")
    assert [code for code, _ in found.remarks] == ["PT604", "PT604"]
    assert found.after == found.before


def test_what_only_some_processes_reach_is_left_alone() -> None:
    top = "import torch.distributed as dist"
    found = numbers("if dist.get_rank() == 0:\n    print(loss.item())", top=top)
    assert [code for code, _ in found.remarks] == ["PT603"]
    assert found.after == found.before


def test_numbers_made_inside_a_model_are_left_alone() -> None:
    top = """
class Talking(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        print(x.mean().item())
        self.seen = x.mean().item()
        return self.layer(x)
"""
    found = numbers("talking(x)\nprint(talking.seen)", before="talking = Talking()", top=top)
    assert found.after == found.before
    assert [code for code, _ in found.remarks] == ["PT603"]


def test_a_number_of_another_module_is_reduced_there(tmp_path: Path) -> None:
    (tmp_path / "metrics.py").write_text(
        "def right(out, y):\n    return (out.argmax(1) == y).sum().item()\n"
    )
    text = script("print(right_of(out, y))", top="from metrics import right as right_of")
    found = made(reduce_reported_numbers, text, tmp_path)
    assert found.foreign == 2
    assert found.after == text
    assert not found.remarks


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("if loss.item() > 100:\n    break", "if reduce_mean(loss).item() > 100:"),
        ("if loss > 100 or i > 7:\n    break", "if reduce_mean(loss) > 100 or i > 7:"),
        ("scheduler.step(loss.item())", "scheduler.step(reduce_mean(loss).item())"),
        ("if i * len(x) > 40:\n    break", "if i * len(x) * get_world_size() > 40:"),
        ("assert len(x) == 8", "assert len(x) * get_world_size() == 8"),
        ("assert loss.item() < 9", "assert reduce_mean(loss).item() < 9"),
    ],
)
def test_decisions_are_taken_on_numbers_of_the_global_batch(body: str, line: str) -> None:
    before = "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)"
    found = numbers(body, before=before)
    assert found.new == [line]
    check_twice(found)


def test_the_loss_that_a_closure_returns_is_that_of_the_global_batch() -> None:
    before = "search = torch.optim.LBFGS(model.parameters())"
    body = (
        "def closure():\n    search.zero_grad()\n    loss = criterion(model(x), y)\n"
        "    loss.backward()\n    return loss\nsearch.step(closure)"
    )
    found = numbers(body, before=before)
    assert found.new == ["return reduce_mean(loss)"]
    check_twice(found)


def test_the_loss_itself_is_not_touched() -> None:
    text = script(
        "scaled = (out * 2).sum() / len(x)\nscaled.backward()\nprint(scaled.item(), len(x))"
    )
    found = made(reduce_reported_numbers, text)
    assert found.new == [
        "scaled_mean = reduce_mean(scaled)",
        "print(scaled_mean.item(), len(x) * get_world_size())",
    ]


def test_a_sum_that_is_scaled_in_the_loss_is_a_mean_by_then() -> None:
    text = script(
        "both = out.sum() + 0.1 * model.weight.norm()\nboth.backward()\nprint(both.item())"
    )
    found = made(reduce_reported_numbers, text)
    assert found.new == ["both_mean = reduce_mean(both)", "print(both_mean.item())"]


def test_reductions_are_kept_out_of_guards() -> None:
    plan = plan_of(script("torch.save({'loss': loss.item()}, 'x.pt')"))
    found = reported(plan, VOCABULARY)
    together = found.together()
    assert together
    bound = [node for run in once_of(plan).runs for node in run.bound]
    source = plan.entry.source
    held = [
        node for node in bound if any(id(p) in together for p in (node, *descend(source, node)))
    ]
    assert held


def descend(source: object, node: object) -> list[object]:
    """Everything below a node."""
    found = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(current.children)  # type: ignore[attr-defined]
    return found


def test_helpers_give_back_what_they_are_given_in_one_process() -> None:
    body = "print(loss.item(), out.sum().item(), np.mean(y.numpy() == 1), len(x))"
    text = numbers(body)
    helpers: dict[str, Any] = {}
    exec(text.after[: text.after.index("START")], helpers)
    tensor = helpers["torch"].rand(3, requires_grad=True)
    assert helpers["reduce_mean"](tensor) is tensor
    assert helpers["reduce_sum"](tensor) is tensor
    assert helpers["reduce_number"](3) == 3
    assert helpers["get_world_size"]() == 1
    text = numbers("print(loss.item(), out.mean().item())\ntotal += loss.item()", "print(total)")
    exec(text.after[: text.after.index("START")], helpers)
    assert helpers["reduce_means"](tensor, 2) == (tensor, 2)
    assert helpers["average_numbers"](1.5, 2) == (1.5, 2)
    text = shared("right, seen")
    exec(text.after[: text.after.index("START")], helpers)
    loader = helpers["DataLoader"]([1, 2, 3])
    assert helpers["shard_count"](loader) == 1
    assert helpers["sum_numbers"](3) == (3,)


def test_a_loader_tells_how_many_processes_share_it() -> None:
    text = shared("right, seen").after
    helpers: dict[str, Any] = {}
    exec(text[: text.index("START")], helpers)
    data = helpers["torch"].utils.data
    sampler = data.distributed.DistributedSampler([1, 2, 3, 4], num_replicas=2, rank=0)
    assert helpers["shard_count"](data.DataLoader([1, 2, 3, 4], sampler=sampler)) == 2


PERPLEXITY = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(2, 8, 3))

    def forward(self, x):
        groups = self.codes.size(0)
        parts = x.view(x.size(0), groups, 3).permute(1, 0, 2)
        near = torch.softmax(torch.bmm(parts.reshape(groups, -1, 3), self.codes.mT), dim=2)
        told = torch.bmm(near, self.codes).permute(1, 0, 2).reshape(x.size(0), -1)
        used = near.mean(dim=1)
        return told, torch.exp(-(used * used.log()).sum(dim=1)).sum()


model = Codes()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(64, 6)), batch_size=8):
    told, perplexity = model(x)
    loss = nn.functional.mse_loss(told, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(perplexity.item())
"""


def test_a_number_that_a_model_makes_of_batch_means_is_told_and_not_summed() -> None:
    result = convert(PERPLEXITY)
    assert "print_once(perplexity.item())" in result.text
    assert [finding.code for finding in result.findings] == ["PT603"]
    assert "'log' of a number over the batch" in result.findings[0].message


@pytest.mark.parametrize(
    "fits",
    [
        "x.shape[0] == y.shape[0]",
        "len(x) == len(y)",
        "x.shape == y.shape + (8,)",
        "out.shape == (len(x), 3)",
        "out.size() == torch.Size([x.size(0), 3])",
        "x.shape[1:] == (8,)",
        "x.shape[-1] == 8",
        "x.shape is not None",
    ],
)
def test_sizes_that_grow_alike_are_compared_as_they_are(fits: str) -> None:
    found = numbers(f"if not ({fits}):\n    raise ValueError\nassert {fits}")
    assert found.after == found.before
    assert not found.remarks


@pytest.mark.parametrize(
    "fits",
    [
        "x.shape == (8, 5)",
        "tuple(x.shape) == (8, 5)",
        "out.shape == torch.Size([8, 3])",
    ],
)
def test_a_shape_that_is_told_by_its_numbers_is_that_of_the_whole_batch(fits: str) -> None:
    for body in (f"assert {fits}", f"if not {fits}:\n    raise ValueError"):
        found = numbers(body)
        assert [code for code, _ in found.remarks] == ["PT603"], body


CALLED_BACK = """
from collections import defaultdict
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, data):
        self.model, self.data = model, data
        self.callbacks = defaultdict(list)

    def on(self, event, callback):
        {keep}

    def trigger(self, event):
        for callback in self.callbacks.get(event, []):
            callback(self)

    def run(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for x, y in DataLoader(self.data, batch_size=12):
            optimizer.zero_grad()
            self.loss = nn.functional.mse_loss(self.model(x), y)
            self.loss.backward()
            optimizer.step()
            self.trigger("batch")


def report(trainer):
    print(trainer.loss.item())


trainer = Trainer(nn.Linear(3, 1), TensorDataset(torch.randn(48, 3), torch.randn(48, 1)))
trainer.on("batch", report)
trainer.run()
"""


@pytest.mark.parametrize(
    "keep", ["self.callbacks[event] = [callback]", "self.callbacks[event].append(callback)"]
)
def test_what_a_function_reports_that_is_kept_in_a_dict_of_lists(keep: str) -> None:
    text = convert(CALLED_BACK.format(keep=keep)).text
    assert "    loss_mean = reduce_mean(trainer.loss)\n    print_once(loss_mean.item())" in text
