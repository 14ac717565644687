"""What each process has seen of the batches is followed into whatever keeps it for later."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import array, bisect, heapq, operator
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


class Indexed(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(72, 4), torch.randint(0, 2, (72,))

    def __len__(self):
        return 72

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


class Box:
    rows = []


def remember(rows):
    remember.rows = rows


torch.manual_seed(1)
data = Indexed()
loader = DataLoader(data, batch_size=12)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(3):
    kept = {kept}
    for indices, x, y in loader:
        losses = F.cross_entropy(model(x), y, reduction="none")
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen, found = losses.detach(), losses.detach().numpy()
        {put}
    for _, x, y in DataLoader(Subset(data, {chosen}), batch_size=4):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PAIRS = "list(zip(losses.tolist(), indices.tolist()))"
FROM_BOX = "[i for _, i in sorted(kept.rows)[-12:]]"
EACH = "for i, l in zip(indices.tolist(), losses.tolist()): "
LAST = "[i for _, i in sorted(kept)[-12:]]"
ARRAY = "np.argsort(kept)[-12:].tolist()"
TENSOR = "kept.argsort()[-12:].tolist()"


def refusals(kept: str, put: str, chosen: str) -> list[str]:
    """What is refused of a script whose batches are to be shared out."""
    text = SCRIPT.format(kept=kept, put=put, chosen=chosen)
    found = convert(text, Options(shard="data"), path="train.py").findings
    return [each.code for each in found if each.level.name == "ERROR"]


@pytest.mark.parametrize(
    ("kept", "put", "chosen"),
    [
        ("[]", EACH + "heapq.heappush(kept, (l, i))", LAST),
        ("[(0.0, 0)] * 12", EACH + "heapq.heappushpop(kept, (l, i))", LAST),
        ("[(0.0, 0)] * 12", EACH + "heapq.heapreplace(kept, (l, i))", "[i for _, i in kept]"),
        ("[]", EACH + "bisect.insort(kept, (l, i))", "[i for _, i in kept[-12:]]"),
        ("[]", EACH + "list.append(kept, (l, i))", LAST),
        ("[]", "kept.extend(map(tuple, zip(losses.tolist(), indices.tolist())))", LAST),
        ("[]", "[kept := kept + [one] for one in zip(losses.tolist(), indices.tolist())]", LAST),
        ("{}", EACH + "operator.setitem(kept, i, l)", "sorted(kept, key=kept.get)[-12:]"),
        ("{}", EACH + "dict.__setitem__(kept, i, l)", "sorted(kept, key=kept.get)[-12:]"),
        ("Box()", f"vars(kept)['rows'] = {PAIRS}", FROM_BOX),
        ("Box()", f"kept.__dict__.update(rows={PAIRS})", FROM_BOX),
        ("Box()", f"object.__setattr__(kept, 'rows', {PAIRS})", FROM_BOX),
        ("remember", f"remember({PAIRS})", FROM_BOX),
        ("np.zeros(12)", "np.add(kept, found, out=kept)", ARRAY),
        ("np.zeros(72)", "np.copyto(kept[indices[0]:indices[0] + 12], found)", ARRAY),
        ("np.zeros(72)", "np.fmax.at(kept, indices.numpy(), found)", ARRAY),
        ("torch.zeros(12)", "torch.add(kept, seen, out=kept)", TENSOR),
        ("torch.zeros(72)", "kept.view(6, 12)[indices[0] // 12].copy_(seen)", TENSOR),
        (
            "np.zeros(72)",
            EACH + "kept[i] = l",
            "sorted(range(72), key=kept.__getitem__)[-12:]",
        ),
        (
            "array.array('d', [0.0] * 72)",
            EACH + "kept[i] = l",
            "sorted(range(72), key=lambda i: kept[i])[-12:]",
        ),
        (
            "pd.DataFrame({'l': np.zeros(72)})",
            "kept.loc[indices.numpy(), 'l'] = found",
            "kept.sort_values('l').index[-12:].tolist()",
        ),
        (
            "pd.DataFrame({'l': np.zeros(72)})",
            EACH + "kept.at[i, 'l'] = l",
            "kept.sort_values('l').index[-12:].tolist()",
        ),
    ],
)
def test_what_batches_gave_decides_on_the_next_data(kept: str, put: str, chosen: str) -> None:
    assert refusals(kept, put, chosen) == ["PT218"]


@pytest.mark.parametrize(
    ("kept", "put", "chosen"),
    [
        ("[]", "heapq.heappush(kept, (epoch, 3))", LAST),
        ("[]", "list.append(kept, (epoch, 3))", LAST),
        ("{}", "operator.setitem(kept, epoch, 3)", "sorted(kept, key=kept.get)[-12:]"),
        ("Box()", "vars(kept)['rows'] = [(0, 3), (1, 4)]", FROM_BOX),
        ("remember", "remember([(0, 3), (1, 4)])", FROM_BOX),
        ("np.zeros(72)", "np.add(kept, 1.0, out=kept)", ARRAY),
        ("np.zeros(72)", "np.copyto(kept[epoch:], 1.0)", ARRAY),
        ("torch.zeros(12)", "torch.add(kept, 1.0, out=kept)", TENSOR),
        ("list(range(72))", "pass", "sorted(kept, key=lambda i: -i)[-12:]"),
        ("np.zeros(72)", "kept[epoch] = 1.0", "sorted(range(72), key=kept.__getitem__)[-12:]"),
    ],
)
def test_what_all_processes_have_alike_does_not_matter(kept: str, put: str, chosen: str) -> None:
    assert refusals(kept, put, chosen) == []
