"""What a method is called for alone, whatever its name, puts what it is given into its object."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import contextvars, io, struct
import mylab
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Box:
    n = 0.0


torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 3), torch.randint(0, 2, (48,)))
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
kept = {kept}
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=8):
        losses = F.cross_entropy(net(x), y, reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        worst = losses.max().item()
        {put}
    optimizer.param_groups[0]["lr"] = 0.1 + {read}
"""


def decides(kept: str, put: str, read: str) -> bool:
    """Whether one process's share of the data is said to decide the learning rate."""
    text = SCRIPT.format(kept=kept, put=put.replace("\n", "\n        "), read=read)
    found = convert(text, Options(shard="data"), path="train.py").findings
    return any(each.code in ("PT714", "PT715") for each in found)


@pytest.mark.parametrize(
    ("kept", "put", "read"),
    [
        ("io.StringIO()", "kept.write(str(worst))", "float(kept.getvalue().split()[-1])"),
        ("contextvars.ContextVar('kept')", "kept.set(worst)", "kept.get()"),
        ("np.zeros(1)", "kept.fill(worst)", "float(kept[0])"),
        ("bytearray(8)", "struct.pack_into('d', kept, 0, worst)", "struct.unpack('d', kept)[0]"),
        ("torch.zeros(1)", "nn.init.constant_(kept, worst)", "float(kept[0])"),
        ("mylab.Watch()", "kept.see(worst)", "float(kept.limit())"),
        ("Box", "setattr(kept, 'n', worst)", "kept.n"),
        ("[]", "if worst > 0.6:\n    kept = [*kept, worst]", "len(kept)"),
        ("[]", "if worst > 0.6:\n    kept = kept + [worst]", "len(kept)"),
    ],
)
def test_it_decides_what_the_object_gives_later(kept: str, put: str, read: str) -> None:
    assert decides(kept, put, read)


@pytest.mark.parametrize(
    ("kept", "put", "read"),
    [
        ("io.StringIO()", "kept.write('.')", "len(kept.getvalue())"),
        ("np.zeros(1)", "kept.fill(epoch)", "float(kept[0])"),
        ("torch.zeros(1)", "nn.init.constant_(kept, 0.5)", "float(kept[0])"),
        ("mylab.Watch()", "kept.see(epoch)", "float(kept.limit())"),
        ("Box", "setattr(kept, 'n', epoch)", "kept.n"),
        ("[]", "if epoch > 0:\n    kept = [*kept, 1]", "len(kept)"),
        ("mylab.Log()", "kept.write(str(worst))", "0.1 * epoch"),
    ],
)
def test_what_all_processes_give_it_does_not(kept: str, put: str, read: str) -> None:
    assert not decides(kept, put, read)
