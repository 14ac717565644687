"""Numbers of a batch that objects of the standard library keep, or that other threads read."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import array
import atexit
import collections
import contextvars
import io
import multiprocessing
import queue
import signal
import sqlite3
import threading
import weakref

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

{before}

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    out = net(xb)
    loss = nn.functional.mse_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    {body}
{after}
"""
#: What keeps the loss, how it is given it, and how it is asked for it.
KEEPERS = {
    "a queue": ("kept = queue.Queue()", "kept.put(loss.item())", "print(kept.get())"),
    "a queue of processes": (
        "kept = multiprocessing.Queue()",
        'kept.put(("loss", loss.item()))',
        "name, value = kept.get()\nprint(value)",
    ),
    "an array": ('kept = array.array("d")', "kept.append(loss.item())", "print(sum(kept))"),
    "a list by another name": (
        "kept = collections.UserList()",
        "kept.append(loss.item())",
        "print(sum(kept))",
    ),
    "a dict by another name": (
        "kept = collections.UserDict()",
        'kept["loss"] = loss.item()',
        'print(kept["loss"])',
    ),
    "a chain of dicts": (
        "kept = collections.ChainMap({})",
        'kept["loss"] = loss.item()',
        'print(kept["loss"])',
    ),
    "a variable of a context": (
        'kept = contextvars.ContextVar("kept", default=0.0)',
        "kept.set(kept.get() + loss.item())",
        "print(kept.get())",
    ),
    "a text": (
        "kept = io.StringIO()",
        'kept.write(f"{loss.item()} ")',
        "print(sum(map(float, kept.getvalue().split())))",
    ),
    "a database": (
        'kept = sqlite3.connect(":memory:")\nkept.execute("create table seen (loss real)")',
        'kept.execute("insert into seen values (?)", (loss.item(),))',
        'print(kept.execute("select sum(loss) from seen").fetchone()[0])',
    ),
    "a number of processes": (
        'kept = multiprocessing.Value("d", 0.0)',
        "kept.value += loss.item()",
        "print(kept.value)",
    ),
    "an object behind a proxy": (
        "class Sums:\n    total = 0.0\n\n\nsums = Sums()\nkept = weakref.proxy(sums)",
        "kept.total += loss.item()",
        "print(sums.total)",
    ),
    "an object behind a reference": (
        "class Sums:\n    total = 0.0\n\n\nsums = Sums()\nkept = weakref.ref(sums)",
        "kept().total += loss.item()",
        "print(sums.total)",
    ),
}


def script(before: str, body: str, after: str = "") -> str:
    """A training with something before it, in its loop, and behind it."""
    return SCRIPT.format(before=before, body=body, after=after)


@pytest.mark.parametrize("name", KEEPERS)
def test_what_an_object_is_given_is_of_all_processes(name: str) -> None:
    """The numbers of each process's share were reported in silence."""
    before, body, after = KEEPERS[name]
    text = convert(script(before, body, after)).text
    assert "loss.item()" in body
    assert body.replace("loss.item()", "reduce_mean(loss).item()") in text


@pytest.mark.parametrize("name", KEEPERS)
def test_what_nobody_asks_an_object_for_is_its_own(name: str) -> None:
    before, body, _ = KEEPERS[name]
    if "total" not in before:
        assert body in convert(script(before, body)).text


READER = """\
def show(source):
    while True:
        seen = source.get()
        if seen is None:
            break
        print(SEEN)


source = queue.Queue()
reader = threading.Thread(target=show, args=(source,))
reader.start()"""


def test_a_thread_behind_a_queue_is_given_the_numbers_of_all_processes() -> None:
    text = convert(script(READER.replace("SEEN", "seen"), "source.put(loss.item())")).text
    assert "source.put(reduce_mean(loss).item())" in text


def test_samples_behind_a_queue_are_told() -> None:
    """Processes do not meet in a thread."""
    before = READER.replace("SEEN", "seen[0].mean().item()")
    found = convert(script(before, "source.put((out.detach(), yb))"))
    assert [finding.code for finding in found.findings] == ["PT603"]
    assert "share" in found.findings[0].message


SHOW = """\
stats = {"loss": 0.0}


def show(*given):
    print(stats["loss"])


"""


@pytest.mark.parametrize(
    "start",
    [
        "atexit.register(show)",
        "signal.signal(signal.SIGALRM, show)",
        "threading.Thread(target=show).start()",
        "threading.Timer(1.0, function=show).start()",
        "weakref.finalize(torch.nn, show)",
    ],
)
def test_what_runs_later_sees_what_the_training_has_added(start: str) -> None:
    """It was looked at as it begins alone, when nothing has been added so far."""
    text = convert(script(SHOW + start, 'stats["loss"] += loss.item()')).text
    assert 'stats["loss"] += reduce_mean(loss).item()' in text


def test_what_a_thread_is_handed_is_what_its_function_works_on() -> None:
    before = "def add(totals, value):\n    totals.append(value)\n\n\ntotals = []"
    body = 'threading.Thread(target=add, args=(totals,), kwargs={"value": loss.item()}).start()'
    text = convert(script(before, body, "print(sum(totals))")).text
    assert '"value": reduce_mean(loss).item()' in text
