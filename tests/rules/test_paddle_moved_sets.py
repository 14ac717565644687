"""Data sets of Paddle that are moved out of a loader's call are made when all processes may."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        super().__init__()
        with open(path) as rows:
            self.rows = [float(row) for row in rows]

    def __getitem__(self, index):
        return np.array([self.rows[index]], "float32")

    def __len__(self):
        return len(self.rows)


def main():
    paddle.seed(0)
    model = nn.Linear(1, 1)
    with open("rows.txt", "w") as rows:
        rows.write("1.0\\n2.0\\n" * 24)
    loader = DataLoader(Rows("rows.txt"), batch_size=12)
    optimizer = paddle.optimizer.SGD(0.05, parameters=model.parameters())
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


main()
"""


def test_the_processes_wait_for_a_file_before_the_moved_data_set_reads_it() -> None:
    text = convert(SCRIPT).text
    assert text.index("write(") < text.index("dist.barrier()\n    train_dataset = Rows(")
