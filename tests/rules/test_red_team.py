"""Scripts whose conversion once trained another model, or none, without a word."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome, Result

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

X = torch.randn(48, 6)
Y = X[:, :1] * 2
"""
LOOP = """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(X, Y), batch_size=8)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        {loss}
        optimizer.zero_grad()
        {backward}
        optimizer.step()
"""


def converted(text: str) -> Result:
    """What becomes of a script."""
    return convert(text.encode(), path="train.py")


def loop(loss: str, backward: str = "loss.backward()") -> Result:
    """What becomes of a loop with a loss."""
    return converted(HEAD + LOOP.format(loss=loss, backward=backward))


def codes(result: Result) -> set[str]:
    """The codes of warnings and errors."""
    return {found.code for found in result.findings if found.level.label != "note"}


def test_model_that_a_function_makes_global_is_averaged_by_hand() -> None:
    result = converted(HEAD + """
model = None
optimizer = None

def build():
    global model, optimizer
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

def main():
    build()
    for epoch in range(2):
        for x, y in DataLoader(TensorDataset(X, Y), batch_size=8):
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

main()
""")
    assert result.outcome is Outcome.CONVERTED
    assert "average_gradients(optimizer)\n            optimizer.step()" in result.text


def test_late_import_is_repeated_for_helpers_that_run_before_it() -> None:
    text = converted(
        HEAD
        + "import os\n"
        + LOOP.format(loss="loss = F.mse_loss(out, y)", backward="loss.backward()")
    ).text
    assert text.index("import os\n") < text.index("os.environ")
    assert text.count("import os\n") == 2


def test_gradient_that_a_backward_pass_starts_from_counts() -> None:
    losses = 'losses = F.mse_loss(out, y, reduction="none")'
    mean = loop(losses, "losses.backward(torch.ones_like(losses) / len(losses))")
    assert "(losses * " not in mean.text
    summed = loop(losses, "losses.backward(torch.ones_like(losses))")
    assert "(losses * get_world_size()).backward(" in summed.text
    scaled = loop("loss = F.mse_loss(out, y)", "loss.backward(torch.tensor(2.0))")
    assert "PT403" not in codes(scaled)
    assert "loss.backward(torch.tensor(2.0))" in scaled.text


def test_hardest_samples_of_a_batch_are_warned_of() -> None:
    result = loop("loss = ((out - y) ** 2).view(-1).topk(4)[0].mean()")
    assert "PT403" in codes(result)


def test_mean_over_samples_that_a_mask_picks_is_divided_by_their_number_everywhere() -> None:
    result = loop("mask = y > 0\n        loss = F.mse_loss(out[mask], y[mask])")
    assert 'F.mse_loss(out[mask], y[mask], reduction="sum") / ' in result.text
    assert "PT403" not in codes(result)


def test_statistics_from_the_training_loader_are_warned_of() -> None:
    passes = """
loader = DataLoader(TensorDataset(X, Y), batch_size=8)
counts = torch.zeros(6)
for x, y in loader:
    counts[0] += x.sum()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for x, y in loader:
        loss = F.mse_loss(model({input}), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert "PT215" in codes(converted(HEAD + passes.format(input="x * counts")))
    assert "PT215" not in codes(converted(HEAD + passes.format(input="x")))


def test_queue_of_what_one_process_saw_is_warned_of() -> None:
    text = """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(X, Y), batch_size=8)
queue = torch.zeros(16, 1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        loss = F.mse_loss(out, y) + (out - queue.mean()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue[:4] = {kept}
"""
    assert "PT406" in codes(converted(HEAD + text.format(kept="out.detach()[:4]")))
    assert "PT406" not in codes(converted(HEAD + text.format(kept="torch.ones(4, 1)")))


def test_what_follows_a_loop_that_begins_is_reached() -> None:
    source = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class State:
    going = True


def train(loader, model, most=20):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step, state, batches = 0, State(), iter(loader)
    while {test}:
        x, y = next(batches)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        state.going = step < most
    print("done", step)
    torch.save(model.state_dict(), "model.pt")


data = TensorDataset(torch.randn(640, 3), torch.randn(640, 1))
train(DataLoader(data, batch_size=8), nn.Linear(3, 1))
"""
    for test in ("step < most", "state.going", "not step >= most", "step < 3 or step < most"):
        text = convert(source.format(test=test)).text
        assert 'print_once("done", step)' in text, test
        assert "unwrap(model).state_dict()" in text, test


def test_time_first_probabilities_of_ctc_loss_meet_their_targets() -> None:
    result = loop(
        "steps = out.unsqueeze(1).expand(8, 5, 3).transpose(0, 1).log_softmax(2)\n"
        "        lengths = torch.full((len(y),), 5)\n"
        "        loss = nn.CTCLoss()(steps, y.long(), lengths, torch.ones(len(y)).long())"
    )
    assert "PT403" not in codes(result)


READ_LINES = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.full((5, 4), float(index)), "ab"


def encode(texts):
    if isinstance(texts, str):
        letters, lengths = [ord(letter.lower()) - 96 for letter in texts], [len(texts)]
    else:
        letters, _ = encode("".join(texts))
        lengths = [len(text) for text in texts]
    return torch.IntTensor(letters), torch.IntTensor(lengths)


model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for lines, texts in DataLoader(Lines(), batch_size=8):
    letters, lengths = encode(texts)
    steps = model(lines).transpose(0, 1).log_softmax(2)
    loss = nn.CTCLoss()(steps, letters, torch.full((len(texts),), 5), lengths) / len(lines)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_texts_joined_over_a_batch_are_targets_of_its_samples() -> None:
    result = convert(READ_LINES)
    assert "PT403" not in codes(result)
    assert "(loss / get_world_size()).backward()" in result.text


TRACKED = """
from torch.utils.tensorboard import SummaryWriter

model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(TensorDataset(X, Y), batch_size=8)
run = SummaryWriter()


def evaluate():
    return sum(F.mse_loss(model(x), y).item() for x, y in DataLoader(TensorDataset(X, Y)))


for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    if run is not None:
        result = evaluate()
"""


def test_tracker_on_whose_presence_an_evaluation_depends_is_there_on_all_processes() -> None:
    text = HEAD + TRACKED
    result = converted(text)
    assert "run = SummaryWriter()\n" in result.text
    assert "PT552" in codes(result)
    alone = converted(text.replace("if run is not None", "if epoch"))
    assert "run = SummaryWriter() if is_main_process() else None\n" in alone.text
