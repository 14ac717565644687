"""Batches with time first: libraries that put them together, and states in tuples of any length."""

from __future__ import annotations

from transpile import Outcome, convert

SEQUENCES = """\
import torch
from torch import nn
from somelib.data import BucketIterator
class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.gru = nn.GRU(8, 8)
        self.out = nn.Linear(8, 10)
    def forward(self, src, trg):
        batch_size, max_len = src.size(1), trg.size(0)
        _, hidden = self.gru(self.embed(src))
        outputs = torch.zeros(max_len, batch_size, 10)
        word = trg[0, :]
        for t in range(1, max_len):
            output, hidden = self.gru(self.embed(word).unsqueeze(0), hidden)
            outputs[t] = self.out(output.squeeze(0))
            word = trg[t]
        return outputs
torch.manual_seed(0)
train_iter, val_iter = BucketIterator.splits(("train", "val"), batch_size=4)
model = Seq()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for batch in train_iter:
        output = model(batch.src, batch.trg)
        loss = nn.functional.cross_entropy(output[1:].view(-1, 10), batch.trg[1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(loss.item())
"""
STATES = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, n, h, layers=2):
        super().__init__()
        self.encoder = nn.Embedding(n, h)
        self.rnn = nn.ModuleList([nn.LSTMCell(h, h) for _ in range(layers)])
        self.decoder = nn.Linear(h, n)
        self.h, self.layers = h, layers
    def forward(self, input, hidden):
        layer_input = self.encoder(input)
        new = [[], []]
        for k in range(self.layers):
            output = []
            hx, cx = hidden[0][k], hidden[1][k]
            for t in range(input.shape[0]):
                hx, cx = self.rnn[k](layer_input[t], (hx, cx))
                output.append(hx)
            layer_input = torch.stack(output)
            new[0].append(hx)
            new[1].append(cx)
        hidden = (torch.stack(new[0]), torch.stack(new[1]))
        return self.decoder(layer_input), hidden
    def init_hidden(self, bsz):
        w = next(self.parameters())
        return (w.new_zeros(self.layers, bsz, self.h), w.new_zeros(self.layers, bsz, self.h))
def batchify(data, bsz):
    n = data.size(0) // bsz
    data = data.narrow(0, 0, n * bsz)
    return data.view(bsz, -1).t().contiguous()
def get_batch(source, i, bptt=5):
    n = min(bptt, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n].view(-1)
torch.manual_seed(0)
train_data = batchify(torch.randint(0, 12, (400,)), 4)
model = Net(12, 8)
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    hidden = model.init_hidden(4)
    total = 0.0
    for i in range(0, train_data.size(0) - 1, 5):
        data, targets = get_batch(train_data, i)
        hidden = tuple(h.detach() for h in hidden)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, 12), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        total += loss.item()
    print(total)
"""


def test_batches_of_a_library_may_have_time_first() -> None:
    result = convert(SEQUENCES)
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "model = CheckedSplitCalls(model, inputs=(1, 1), outputs=1)" in result.text
    assert {finding.code for finding in result.findings} == {"PT354", "DT015"}


def test_states_in_a_tuple_are_cut_along_their_own_axis() -> None:
    result = convert(STATES)
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "inputs=(1, 1), outputs=(1, (1, 1))" in result.text
    told = [finding.message for finding in result.findings if finding.code == "PT354"]
    assert len(told) == 1 and "along the second axis" in told[0]
