"""Models that give their loss: a mean over samples that are apart until then."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import convert as automatic
from transpile.finding import Level

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, i):
        return i % 8, (i + 1) % 8, torch.arange(3) + i % 5


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(8, 4)
        self.v = nn.Embedding(8, 4)

    def forward(self, c, p, n):
        e = self.u(c)
        near = F.logsigmoid((e * self.v(p)).sum(1))
        far = F.logsigmoid(-torch.bmm(self.v(n), e.unsqueeze(2)).squeeze(2)).sum(1)
        return {given}


loader = DataLoader(Pairs(), batch_size=12)
model = Words()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for c, p, n in loader:
    optimizer.zero_grad()
    loss = model(c, p, n)
    loss.backward()
    optimizer.step()
"""


def is_warned_of(given: str) -> bool:
    """Whether something is said of a model that gives such a loss."""
    found = convert(SCRIPT.format(given=given).encode()).findings
    return any(one.level is not Level.NOTE for one in found)


def test_a_mean_over_samples_that_are_apart() -> None:
    """Shapes that are supposed of the inputs, and that would mix samples before, are not meant."""
    assert not is_warned_of("-(near + far).mean()")


@pytest.mark.parametrize(
    "given", ["-(near - near.mean() * far).mean().abs()", "-torch.softmax(near + far, 0).max()"]
)
def test_samples_that_are_mixed_before(given: str) -> None:
    assert is_warned_of(given)


PRETRAINED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertModel, BertPreTrainedModel


class Classifier(BertPreTrainedModel):
    def __init__(self, config, width):
        super().__init__(config)
        self.bert = BertModel(config)
        self.head = nn.Linear(8, width)

    def forward(self, ids, labels):
        outputs = self.bert(ids)
        outputs = (self.head(outputs[1]),) + outputs[2:]
        loss = nn.CrossEntropyLoss()(outputs[0].view(-1, 2), labels.view(-1))
        return (loss,) + outputs


rows = TensorDataset(torch.ones(32, 6).long(), torch.ones(32).long())
config = BertConfig.from_pretrained("bert-base-uncased")
model = Classifier.from_pretrained("bert-base-uncased", config=config, width=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for ids, labels in DataLoader(rows, batch_size=8):
    loss = model(ids, labels)[0]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_calls_that_give_a_loss_beside_what_is_not_known_are_not_split() -> None:
    """The check with the first batch would end every job."""
    found = automatic(PRETRAINED, path="train.py")
    assert "SplitCalls" not in found.text
    assert {"PT413", "DT016"} <= {one.code for one in found.findings}
