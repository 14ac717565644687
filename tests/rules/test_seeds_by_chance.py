"""Where seeds differ from process to process, the state of rank 0 is shared behind them."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(args):
    {seeded}
    data = TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)))
    loader = DataLoader(data, batch_size=12, shuffle=True{workers})
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    main(args)
"""


def lines(seeded: str = "pass", workers: str = "") -> list[str]:
    text = convert(SCRIPT.format(seeded=seeded, workers=workers)).text
    assert text
    return [line.strip() for line in text.splitlines()]


def test_seeds_of_workers_are_not_those_of_the_process() -> None:
    found = lines(workers=", worker_init_fn=lambda n: np.random.seed(n + int(time.time()))")
    assert found.index("share_random_state()") < found.index("main(args)")


def test_a_seed_in_the_function_that_trains_is_followed_there() -> None:
    found = lines(seeded="torch.manual_seed(int(time.time()))")
    seeded = found.index("torch.manual_seed(int(time.time()))")
    assert found[seeded + 1] == "share_random_state()"


def test_what_is_drawn_in_the_branch_of_a_seed_is_the_same_on_all_ranks() -> None:
    seeded = (
        "order = np.arange(48)\n    seed = random.randint(1, 100)\n    if args.lr:\n"
        "        np.random.seed(seed)\n        np.random.shuffle(order)"
    )
    found = lines(seeded=f"import random\n    {seeded}")
    shared = [n for n, line in enumerate(found) if line == "share_random_state()"]
    assert shared[0] < found.index("main(args)") or shared[0] < found.index("order = np.arange(48)")
    seed = found.index("np.random.seed(seed)")
    assert found[seed + 1 : seed + 3] == [
        "share_random_state()",
        "np.random.shuffle(order)",
    ]


def test_a_seed_within_a_step_is_no_place_to_meet() -> None:
    step = "loss = nn.functional"
    script = SCRIPT.replace(
        step, f"if x.mean() > 0:\n{' ' * 16}torch.manual_seed(int(time.time()))\n{' ' * 12}{step}"
    )
    text = convert(script.format(seeded="pass", workers="")).text
    assert text.count("\n    share_random_state()\n") == 1
    assert " " * 8 + "share_random_state()" not in text
