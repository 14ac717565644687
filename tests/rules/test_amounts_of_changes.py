"""Numbers of one process's share by which parameters, gradients or the optimizer are changed."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile import convert as convert_on_any_way

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.sin(torch.arange(288.0)).view(48, 6)
y = torch.cos(torch.arange(144.0)).view(48, 3)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
for a, b in DataLoader(TensorDataset(x, y), batch_size=12):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(a), b)
    loss.backward()
    {change}
    optimizer.step()
"""
EACH = "for p in model.parameters():\n        "
DIFFERENT = (
    "nn.utils.clip_grad_norm_(model.parameters(), 0.1 * b.abs().max().item())",
    "nn.utils.clip_grad_norm_(model.parameters(), max_norm=loss.item())",
    "nn.utils.clip_grad_value_(model.parameters(), float(loss))",
    f"{EACH}p.grad.mul_(b.abs().max())",
    f"{EACH}p.grad /= b.std()",
    f"{EACH}p.data.mul_(1 - 0.01 * loss.item())",
    "for group in optimizer.param_groups:\n        group.update(lr=min(0.1, loss.item()))",
    f"{EACH}p.grad /= a.size(0)",
    f"{EACH}p.grad.mul_(len(a) / 12)",
    f"{EACH}p.grad = p.grad / b.shape[0]",
    f"{EACH}p.data.mul_(1 - 0.001 * a.size(0))",
    "nn.utils.clip_grad_norm_(model.parameters(), 0.1 * len(a))",
    "optimizer.param_groups[0]['lr'] = 0.1 / a.size(0)",
)
#: What stands behind the batches of an epoch, and depends on the last of them.
AFTERWARDS = (
    "for p in model.parameters():\n    p.data.mul_(1 - 0.01 * a.mean())",
    "for p in model.parameters():\n    p.data /= len(a)",
    "for p in model.parameters():\n    p.data = p.data * b.abs().max()",
)
SAME = (
    "nn.utils.clip_grad_norm_(model.parameters(), 0.5)",
    "nn.utils.clip_grad_norm_(model.parameters(), max_norm=len(optimizer.param_groups))",
    f"{EACH}p.grad.mul_(0.5)",
    f"{EACH}p.grad.div_(p.grad.norm() + 1e-6)",
    f"{EACH}p.grad.add_(p.detach(), alpha=0.01)",
    f"{EACH}p.data.mul_(0.99)",
    f"{EACH}p.grad.mul_(a.size(0) / len(b))",
    f"{EACH}p.grad.div_(len(x))",
    "for group in optimizer.param_groups:\n        group.update(lr=group['lr'] * 0.9)",
)


@pytest.mark.parametrize("change", DIFFERENT)
def test_what_is_changed_by_a_number_of_a_share_is_refused(change: str) -> None:
    result = convert(SCRIPT.format(change=change))
    assert result.outcome is Outcome.REFUSED
    assert "PT712" in {finding.code for finding in result.findings}
    # With whole batches the number is that of all processes.
    assert convert_on_any_way(SCRIPT.format(change=change)).outcome is Outcome.CONVERTED


@pytest.mark.parametrize("change", SAME)
def test_what_all_processes_change_alike_is_left(change: str) -> None:
    found = convert(SCRIPT.format(change=change)).findings
    assert "PT712" not in {finding.code for finding in found}


@pytest.mark.parametrize("change", AFTERWARDS)
def test_what_is_changed_between_epochs_is_looked_at_as_well(change: str) -> None:
    result = convert(SCRIPT.format(change="pass") + change + "\n")
    assert result.outcome is Outcome.REFUSED
    assert "PT712" in {finding.code for finding in result.findings}


def test_a_batch_for_each_process_is_counted_as_the_script_counts_it() -> None:
    source = SCRIPT.format(change=f"{EACH}p.grad /= a.size(0)")
    found = convert(source, Options(batch_size="per-device")).findings
    assert "PT712" not in {finding.code for finding in found}


TOKENS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

words = torch.randint(0, 6, (64, 5))
model = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen, total, count = 0, 0.0, 0
for (s,) in DataLoader(TensorDataset(words), batch_size=8):
    n = (s != 0).sum().item()
    seen += n
    rate = {rate}
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = nn.functional.cross_entropy(
        model(s).reshape(-1, 6), s.reshape(-1), ignore_index=0, reduction="sum"
    )
    optimizer.zero_grad()
    (loss / n).backward()
    optimizer.step()
    total += loss.item()
    count += n
{shown}
"""
RATES = (
    "0.5 * min(1.0, seen / 150)",
    "0.1 * min((seen / 80 + 1) ** -0.5, seen / 80 * 30**-1.5)",
    "seen / 1000",
)
SHOWN = ("", "print(total / count)", "print(total / seen)")


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("shown", SHOWN)
def test_a_rate_by_what_was_seen_is_that_of_all_processes(rate: str, shown: str) -> None:
    result = convert(TOKENS.format(rate=rate, shown=shown))
    assert "PT712" in {finding.code for finding in result.findings}
    steps = rate.replace("seen", "optimizer.state_dict()['state'].get('step', 1)")
    result = convert(TOKENS.format(rate=steps, shown=shown))
    assert "PT712" not in {finding.code for finding in result.findings}
