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


TAPE = """\
class Tape:
    def __init__(self):
        self.values = []

    def write(self, text):
        self.values.append(float(text))


kept = Tape()"""
#: What is printed into, how, and how it is asked for it.
PRINTED = {
    "a text": (
        "kept = io.StringIO()",
        "print(loss.item(), file=kept)",
        "print(max(map(float, kept.getvalue().split())))",
    ),
    "an object of the script": (
        TAPE,
        "print(loss.item(), file=kept)",
        "print(max(kept.values))",
    ),
    "what is written to instead": (
        "from contextlib import redirect_stdout\n\nkept = io.StringIO()",
        "with redirect_stdout(kept):\n        print(loss.item())",
        "print(max(map(float, kept.getvalue().split())))",
    ),
    "rows of a text": (
        "import csv\n\nkept = io.StringIO()\nrows = csv.writer(kept)",
        "rows.writerow([loss.item()])",
        "print(kept.getvalue())",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_into_an_object_is_there_on_all_processes(name: str) -> None:
    """Rank 0 alone printed into it, so that the others found nothing, or their own number."""
    before, body, after = PRINTED[name]
    text = convert(script(before, body, after)).text
    call = body.splitlines()[-1].strip()
    assert any(
        form in text
        for form in (
            call.replace("loss.item()", "reduce_mean(loss).item()"),
            call.replace("loss.item()", "loss_mean.item()"),
        )
    )


def test_prints_into_what_says_nothing_of_writing_are_still_made_once() -> None:
    """What a class of the script's own has from elsewhere may go anywhere."""
    before = "import somewhere\n\n\nclass Log(somewhere.Stream):\n    pass\n\n\nkept = Log()"
    assert "print_once(" in convert(script(before, 'print("step", file=kept)')).text
    own = before.replace("somewhere.Stream", "io.StringIO")
    assert 'print("step", file=kept)' in convert(script(own, 'print("step", file=kept)')).text


HANDLER = """\
import logging


class Keep(logging.Handler):
    def emit(self, record):
        CHANGE


logging.getLogger().addHandler(Keep())"""


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ("self.values.append(record.args[0])", ["PT542"]),
        ("self.number += 1", ["PT542"]),
        ('print("said", record.getMessage())', []),
    ],
)
def test_handlers_that_keep_what_is_logged_are_told(change: str, codes: list[str]) -> None:
    """Messages are switched off elsewhere, so that nothing is kept there."""
    found = convert(script(HANDLER.replace("CHANGE", change), 'logging.info("%f", loss.item())'))
    assert [one.code for one in found.findings] == codes


def test_writing_to_a_descriptor_is_done_once() -> None:
    before = 'import os\n\nlog = os.open("log.txt", os.O_WRONLY | os.O_CREAT)'
    lines = convert(script(before, 'os.write(log, b"step")')).text.splitlines()
    at = next(at for at, line in enumerate(lines) if line.strip() == 'os.write(log, b"step")')
    assert lines[at - 1].strip() == "if is_main_process():"
