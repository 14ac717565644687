"""Loaders whose batches are as long as their longest sample."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options
from transpile import convert as convert_on_any_way
from transpile.finding import Level

SCRIPT = """\
from functools import partial
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from samples import samples, tokenizer


{collate}


loader = DataLoader(samples, batch_size=8, collate_fn={given})
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def remarked(collate: str, given: str = "collate") -> bool:
    """Whether the padding of a loader is remarked on."""
    found = convert(SCRIPT.format(collate=collate, given=given).encode())
    return "PT217" in {finding.code for finding in found.findings}


def collate(body: str) -> str:
    """A function that makes a batch."""
    return f"def collate(batch):\n    {body}\n    return made, torch.tensor([y for _, y in batch])"


PADS = (
    "made = pad_sequence([x for x, _ in batch])",
    "longest = max(len(x) for x, _ in batch)\n    "
    "made = torch.stack([nn.functional.pad(x, (0, longest - len(x))) for x, _ in batch])",
    "longest = torch.tensor([len(x) for x, _ in batch]).max()\n    "
    "made = torch.stack([nn.functional.pad(x, (0, longest - len(x))) for x, _ in batch])",
    "made = tokenizer([x for x, _ in batch], padding=True)",
)


@pytest.mark.parametrize("body", PADS)
def test_padding_to_the_longest_sample_is_remarked_on(body: str) -> None:
    assert remarked(collate(body))


KEEPS_LENGTH = (
    "made = torch.stack([x for x, _ in batch])",
    "made = torch.stack([torch.maximum(x, torch.zeros(4)) for x, _ in batch])",
    "made = tokenizer([x for x, _ in batch], padding='max_length')",
    "made = tokenizer([x for x, _ in batch], padding=samples.padding)",
)


@pytest.mark.parametrize("body", KEEPS_LENGTH)
def test_batches_of_one_length_are_not(body: str) -> None:
    assert not remarked(collate(body))


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (collate(PADS[0]).replace("(batch)", "(flag, batch)"), "partial(collate, True)"),
        (f"collate = lambda batch: ({PADS[0].removeprefix('made = ')}, batch[1])", "collate"),
        (
            "class Collator:\n    def __call__(self, batch):\n        "
            "return pad_sequence(batch), batch[1]",
            "Collator()",
        ),
        (
            "class Collator:\n    def collate(self, batch):\n        "
            "return pad_sequence(batch), batch[1]",
            "Collator().collate",
        ),
        ("from transformers import DataCollatorWithPadding", "DataCollatorWithPadding(tokenizer)"),
    ],
)
def test_a_batch_may_be_made_by_whatever_can_be_called(function: str, given: str) -> None:
    assert remarked(function, given)


IN_LOOPS = """\
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from samples import samples


def collate(batch):
    return {made}


loader = DataLoader(samples, batch_size=8, collate_fn=collate)
model = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss({given})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    losses = []
    loss = 0
    for t in range(1, x.size(1)):
        step = criterion(model(x[:, t - 1]), x[:, t])
        loss += step
        losses.append(step.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(sum(losses))
"""


@pytest.mark.parametrize(
    ("given", "codes"), [("", {"PT603"}), ("ignore_index=0", {"PT403", "PT603"})]
)
def test_nothing_is_reduced_as_often_as_one_process_pads(given: str, codes: set[str]) -> None:
    text = IN_LOOPS.format(made="pad_sequence(batch, batch_first=True)", given=given)
    result = convert(text.encode())
    assert result.text is not None
    assert "reduce_mean" not in result.text
    assert codes <= {finding.code for finding in result.findings}


def test_batches_of_one_length_are_reduced_in_their_loops() -> None:
    result = convert(IN_LOOPS.format(made="torch.stack(batch)", given="").encode())
    assert result.text is not None
    assert "    losses[:] = average_numbers(*losses)\n" in result.text


STEPS = """\
    for y in x.permute(1, 0):
        optimizer.zero_grad()
        criterion(model(y), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "warned"),
    [("pad_sequence(batch, batch_first=True)", True), ("torch.stack(batch)", False)],
)
def test_steps_as_often_as_one_process_pads_are_warned_of(made: str, warned: bool) -> None:
    text = IN_LOOPS.format(made=made, given="")
    found = convert((text[: text.index("    losses")] + STEPS).encode()).findings
    assert ("PT712" in {finding.code for finding in found}) is warned


def test_with_shared_calls_every_process_pads_the_whole_batch() -> None:
    text = IN_LOOPS.format(made="pad_sequence(batch, batch_first=True)", given="")
    text = text[: text.index("    losses")] + STEPS
    found = convert_on_any_way(text, Options(shard="calls")).findings
    assert "PT712" not in {finding.code for finding in found}


RECURRENT = """\
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader


class Speech(torch.utils.data.Dataset):
    def __len__(self):
        return 72

    def __getitem__(self, i):
        return torch.randn(8 + i % 5, 4), torch.arange(1, 3 + i % 3)


def collate(batch):
    xs, ys = zip(*batch)
    lengths = torch.tensor([len(x) for x in xs])
    return pad_sequence(xs), pad_sequence(ys, True), lengths, torch.tensor([len(y) for y in ys])


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 12)
        self.fc = nn.Linear(12, 6)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        out, _ = self.gru(packed)
        out, _ = pad_packed_sequence(out)
        return self.fc(out).log_softmax(-1)


loader = DataLoader(Speech(), batch_size=12, collate_fn=collate)
model = Acoustic()
ctc = nn.CTCLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y, lengths, sizes in loader:
    loss = ctc(model(x, lengths), y, lengths, sizes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_outputs_as_long_as_their_longest_are_not_put_together() -> None:
    """Rows of ranks that are of several lengths cannot be gathered: batches are shared."""
    result = convert_on_any_way(RECURRENT.encode())
    assert {(one.code, one.level) for one in result.findings} == {
        ("PT217", Level.NOTE),
        ("PT413", Level.NOTE),
    }
    assert "SplitCalls" not in result.text


UNMASKED = """\
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from samples import samples


def collate(batch):
    return pad_sequence([x for x, _ in batch], True), torch.tensor([y for _, y in batch])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 4, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        h, _ = self.rnn(x)
        {forward}


loader = DataLoader(samples, batch_size=8, collate_fn=collate)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y{loss}).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("forward", "loss", "level"),
    [
        ("return h[:, -1]", "", Level.WARNING),
        ("return self.attention(h, h, h, key_padding_mask=None)[0].mean(1)", "", Level.WARNING),
        ("return self.attention(h, h, h, x[..., 0] == 0)[0].mean(1)", "", Level.NOTE),
        ("return self.attention(h, h, h, key_padding_mask=x[..., 0].bool())[0]", "", Level.NOTE),
        ("return (h * (x != 0)).sum(1)", "", Level.NOTE),
        ("return h.masked_fill(x.bool(), 0).sum(1)", "", Level.NOTE),
        ("return h.transpose(1, 2)", ", ignore_index=0", Level.NOTE),
    ],
)
def test_padding_that_nothing_leaves_out_is_warned_of(
    forward: str, loss: str, level: Level
) -> None:
    found = convert(UNMASKED.format(forward=forward, loss=loss)).findings
    assert {one.level for one in found if one.code == "PT217"} == {level}


def test_where_nothing_leaves_padding_out_calls_are_shared() -> None:
    result = convert_on_any_way(UNMASKED.format(forward="return h[:, -1]", loss=""))
    assert "SplitCalls(" in result.text


TAGGED = """\
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader
from samples import samples


def collate(batch):
    return [pad_sequence(list(each), True) for each in zip(*batch)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8)
        self.layer = {layer}
        self.out = nn.Linear({width}, 5)

    def forward(self, x):
        h = self.words(x)
        {forward}


loader = DataLoader(samples, batch_size=8, collate_fn=collate)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=0)
    loss.backward()
    optimizer.step()
"""
OUTPUTS = "return self.out(self.layer(h)[0])"
STATE = "o, s = self.layer(h)\n        return self.out(o + s[0][:, None])"
PACKED = """packed = pack_padded_sequence(h, (x != 0).sum(1).cpu(), True, False)
        return self.out(pad_packed_sequence(self.layer(packed)[0], True)[0])"""
LONE = "return self.out(self.layer(h))"
BOTH = "nn.GRU(8, 4, batch_first=True, bidirectional=True)"
ENCODER = "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)"


@pytest.mark.parametrize(
    ("layer", "forward", "level"),
    [
        ("nn.GRU(8, 8, batch_first=True)", OUTPUTS, Level.NOTE),
        ("nn.GRU(8, 8, batch_first=True)", STATE, Level.WARNING),
        (BOTH, OUTPUTS, Level.WARNING),
        (BOTH, PACKED, Level.NOTE),
        (ENCODER, LONE, Level.WARNING),
        (ENCODER, LONE.replace("(h)", "(h, src_key_padding_mask=x == 0)"), Level.NOTE),
    ],
)
def test_a_mask_over_the_loss_does_not_help_layers_that_read_to_the_end(
    layer: str, forward: str, level: Level
) -> None:
    found = convert(TAGGED.format(layer=layer, forward=forward, width=8)).findings
    assert {one.level for one in found if one.code == "PT217"} == {level}


def test_the_largest_entry_of_a_table_is_no_length() -> None:
    """The table has a row for each sample of the data, and is made of that number."""
    script = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(24), torch.randn(24, 4))
loader = DataLoader(data, batch_size=6)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
table = torch.zeros(len(data), 3)
for rows, x in loader:
    out = model(x)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    table[rows] = out.detach()
print(table.max(1).values.mean())
"""
    assert "PT217" not in {finding.code for finding in convert(script).findings}
