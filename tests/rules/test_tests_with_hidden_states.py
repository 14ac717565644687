"""A test whose hidden state has the name of the training's: its numbers are whole already."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
train_data = TensorDataset(torch.randn(24, 3, 4), torch.randint(0, 2, (24,)))
test_data = TensorDataset(torch.randn(24, 3, 4), torch.randint(0, 2, (24,)))
batch_size = 6
train_loader = DataLoader(train_data, batch_size=batch_size, shuffle=True)
test_loader = DataLoader(test_data, batch_size=batch_size, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 1)

    def forward(self, x, hidden):
        out, hidden = self.lstm(x, hidden)
        out = torch.sigmoid(self.head(out.contiguous().view(-1, 5)))
        return out.view(x.size(0), -1)[:, -1], hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        return (weight.new(1, batch_size, 5).zero_(), weight.new(1, batch_size, 5).zero_())


on_gpu = torch.cuda.is_available()
net = Net()
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    h = net.init_hidden(batch_size)
    for inputs, labels in train_loader:
        h = tuple([each.data for each in h])
        net.zero_grad()
        output, h = net(inputs, h)
        loss = criterion(output.squeeze(), labels.float())
        loss.backward()
        optimizer.step()
num_correct = 0
h = net.init_hidden(batch_size)
net.eval()
for inputs, labels in test_loader:
    h = tuple([each.data for each in h])
    output, h = net(inputs, h)
    pred = torch.round(output.squeeze())
    correct_tensor = pred.eq(labels.float().view_as(pred))
    if on_gpu:
        correct = np.squeeze(correct_tensor.cpu().numpy())
    else:
        correct = np.squeeze(correct_tensor.numpy())
    num_correct += np.sum(correct)
test_acc = num_correct / len(test_loader.dataset)
print("Test accuracy: {:.3f}".format(test_acc))
"""


def test_the_accuracy_over_the_whole_test_set_is_not_multiplied() -> None:
    result = convert(SCRIPT.encode(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, [finding.message for finding in result.findings]
    assert "reduce_number(test_acc) *" not in result.text
