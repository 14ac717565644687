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


def test_a_loss_before_what_a_library_gives() -> None:
    """Tuples that are put behind each other are no sum."""
    found = automatic(PRETRAINED, path="train.py")
    assert "SplitCalls" not in found.text
    assert not [one for one in found.findings if one.level is not Level.NOTE]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("nn.CrossEntropyLoss()(", "nn.MSELoss()(torch.softmax(outputs[0], 0), ", {"PT413"}),
        ("nn.CrossEntropyLoss()(", "self.crf(", {"PT403"}),
    ],
)
def test_another_loss_before_what_a_library_gives(old: str, new: str, codes: set[str]) -> None:
    text = PRETRAINED.replace(old, new).replace(
        "from transf", "from torchcrf import CRF\nfrom transf"
    )
    text = text.replace("        self.head =", "        self.crf = CRF(2)\n        self.head =")
    found = automatic(text, path="train.py").findings
    assert codes <= {one.code for one in found if one.level is not Level.NOTE}


BESIDE_LOGITS = """\
import torch
from torch import nn
from torch.nn import functional as F

data = torch.randint(0, 11, (300,))


def get_batch():
    ix = torch.randint(len(data) - 8, (12,))
    return torch.stack([data[i:i + 8] for i in ix]), torch.stack([data[i + 1:i + 9] for i in ix])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(11, 6), nn.Linear(6, 11)

    def forward(self, idx, targets=None):
        logits = self.head(self.embedding(idx))
        if targets is None:
            loss = None
        else:
            B, T, C = logits.shape
            logits = logits.view(B * T, C)
            loss = F.cross_entropy(logits, targets.view(B * T))
        return logits, loss


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    if step % 3 == 0:
        with torch.no_grad():
            print(model(*get_batch())[1].item())
    x, y = get_batch()
    logits, loss = model(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_mean_beside_outputs_of_several_shapes() -> None:
    """Logits that are flattened for the loss are no samples that meet."""
    found = automatic(BESIDE_LOGITS, path="train.py").findings
    assert not [one for one in found if one.level is not Level.NOTE]
