"""Several processes leave behind, together, what one process did."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from data_way import convert
from small_scripts import converted, script

from transpile import Options, Outcome
from transpile.verify import Auditor, format_report

SCRIPT = """\
import csv
import json
import logging
import os
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

OUT = os.path.join("out", "plain")
if not os.path.isdir(OUT):
    os.makedirs(OUT)
logger = logging.getLogger("run")
logger.setLevel(logging.DEBUG)
logger.addHandler(logging.StreamHandler(sys.stdout))
logger.addHandler(logging.FileHandler(os.path.join(OUT, "run.log"), mode="w"))


def make_table(path):
    generator = torch.Generator().manual_seed(7)
    with open(path, "w") as f:
        for i in range(24):
            row = torch.randn(4, generator=generator).tolist()
            f.write(" ".join("%.6f" % v for v in row) + "\\n")


def read_table(path):
    with open(path) as f:
        rows = torch.tensor([[float(v) for v in line.split()] for line in f]).double()
    return rows[:, :3], rows[:, 3:]


def evaluate(model, loader):
    with torch.no_grad():
        return [model(x).sum(1).tolist() for x, y in loader]


def save(state, best, folder):
    torch.save(state, os.path.join(folder, "last.pt"))
    if best:
        torch.save(state, os.path.join(folder, "best.pt"))


def main():
    torch.manual_seed(0)
    logger.info("starts")
    if not os.path.exists("table.txt"):
        make_table("table.txt")
    x, y = read_table("table.txt")
    loader = DataLoader(TensorDataset(x, y), batch_size=12)
    everything = DataLoader(TensorDataset(x, y), batch_size=24)
    model = nn.Linear(3, 1).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    results = open(os.path.join(OUT, "results.csv"), "w", newline="")
    writer = csv.writer(results)
    writer.writerow(["epoch", "value"])
    best = None
    for epoch in range(3):
        for a, b in loader:
            loss = ((model(a) - b) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sys.stdout.write(".")
        sys.stdout.write("\\n")
        value = sum(evaluate(model, everything)[0])
        writer.writerow([epoch, "%.4f" % value])
        print("epoch", epoch, "%.4f" % value)
        is_best = best is None or value < best
        best = value if is_best else best
        save(model.state_dict(), is_best, OUT)
    results.close()
    model.load_state_dict(torch.load(os.path.join(OUT, "best.pt")))
    with open(os.path.join(OUT, "predictions.json"), "w") as f:
        json.dump([round(v, 4) for v in evaluate(model, everything)[0]], f)
    torch.save(evaluate(model, everything), os.path.join(OUT, "evaluated.pt"))
    logger.info("finished")


if __name__ == "__main__":
    main()
"""


def test_everything_is_left_behind_once(auditor: Auditor, tmp_path: Path) -> None:
    result = convert(SCRIPT, Options(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, result.findings
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT, "utf-8")
    output.write_bytes(result.data)
    report = auditor.audit(original, output, world_sizes=(1, 2), tolerance=1e-5, timeout_seconds=90)
    assert report.passed, format_report(report)


TURNS = """\
import os
import sys
import time

import torch
import torch.distributed as dist

HELPERS

folder = sys.argv[1]
for rank in range(4):
    if os.fork() == 0:
        # Two nodes of two processes.
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank % 2))
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4
        )
        for failing in (False, True):
            try:
                with main_process_first():
                    time.sleep(0.05)
                    with open(f"{folder}/order.txt", "a") as order:
                        order.write(f"{rank}")
                    if failing:
                        raise OSError("nobody answers")
            except OSError:
                pass
            dist.barrier()
        dist.destroy_process_group()
        os._exit(0)
failed = [os.wait()[1] for _ in range(4)]
sys.exit(any(failed))
"""


def test_nodes_take_turns(tmp_path: Path) -> None:
    source = script(
        top="from torchvision import datasets",
        resume="test = datasets.MNIST('.', download=True)",
    )
    text = converted(source).text
    helpers = re.findall(
        r"^(?:@contextmanager\n)?def (?:get_rank|is_main_process|barrier|main_process_first)\(.*?\n"
        r"(?=\n\n)",
        text,
        re.DOTALL | re.MULTILINE,
    )
    assert len(helpers) == 4
    driver = tmp_path / "turns.py"
    imports = "from contextlib import contextmanager\nfrom typing import Iterator\n\n\n"
    driver.write_text(TURNS.replace("HELPERS", imports + "\n\n".join(helpers)), "utf-8")
    subprocess.run([sys.executable, str(driver), str(tmp_path)], check=True, timeout=120)
    order = (tmp_path / "order.txt").read_text()
    for turn in (order[:4], order[4:]):
        assert turn[:2] == "02"
        assert sorted(turn) == list("0123")
