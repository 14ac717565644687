"""Numbers of a batch that go through threads of the script's own classes, which run ``run``."""

from __future__ import annotations

import pytest
from data_way import convert as convert_by_data

from transpile import convert

SCRIPT = """\
import threading

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Summary(threading.Thread):
    def __init__(self, loss):
        super().__init__()
        self.loss = loss
        self.value = None
        BEGIN

    def run(self):
        self.value = self.loss.item() ** 2


net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    loss = nn.functional.mse_loss(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    summary = Summary(loss.detach())
    summary.STARTED
    summary.join()
    opt.param_groups[0]["lr"] = 0.1 / (1 + summary.value)
"""
OWN_START = """
    def start(self):
        {}
"""
WAYS = {
    "from outside": SCRIPT.replace("BEGIN", "").replace("STARTED", "start()"),
    "as it is made": SCRIPT.replace("BEGIN", "self.start()").replace("STARTED", "name"),
    "by what start of its own calls": SCRIPT.replace(
        "BEGIN\n", f"\n{OWN_START.format('super().start()')}"
    ).replace("STARTED", "start()"),
    "by the method of the class that is behind": SCRIPT.replace(
        "BEGIN\n", f"\n{OWN_START.format('threading.Thread.start(self)')}"
    ).replace("STARTED", "start()"),
    "as a process": SCRIPT.replace("BEGIN", "")
    .replace("STARTED", "start()")
    .replace("threading", "multiprocessing")
    .replace(".Thread", ".Process"),
    "as a process of the framework": SCRIPT.replace("BEGIN", "")
    .replace("STARTED", "start()")
    .replace("threading.Thread", "torch.multiprocessing.Process")
    .replace("import threading", "import torch.multiprocessing"),
}


@pytest.mark.parametrize("name", WAYS)
def test_what_a_thread_makes_of_a_batch_decides_as_if_it_were_called(name: str) -> None:
    """``start`` calls ``run``: the ranks went apart in silence."""
    found = convert(WAYS[name])
    assert [finding.code for finding in found.findings] == ["DT015"]
    assert "PT712" in {finding.code for finding in convert_by_data(WAYS[name]).findings}


def test_processes_do_not_meet_in_threads() -> None:
    """The process may meet the others elsewhere at that time, which ends or hangs the job."""
    text = convert_by_data(WAYS["from outside"].replace('["lr"] =', '["other"] =')).text
    assert "reduce_mean(self.loss)" not in text
    target = (
        WAYS["from outside"]
        .replace("(threading.Thread)", "")
        .replace("super().__init__()", "self.thread = threading.Thread(target=self.run)")
    )
    target = target.replace("summary.start", "summary.thread.start")
    text = convert_by_data(target.replace('["lr"] =', '["other"] =')).text
    assert "reduce_mean(self.loss)" not in text


def test_training_in_run_is_refused() -> None:
    head, _, training = SCRIPT.replace("BEGIN", "").partition("net = nn")
    rest = ("net = nn" + training).partition("    summary = ")[0]
    inner = "".join(f"        {line}\n" for line in rest.splitlines())
    script = head.partition("    def __init__")[0] + f"    def run(self):\n{inner}"
    found = convert(f"{script}\n\nSummary().start()\n")
    assert "PT104" in {finding.code for finding in found.findings}
