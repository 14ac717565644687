"""What a script does more than once, in loops and places of its own: each is looked at."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

HEAD = """\
import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

"""
SETTING = """\
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
loader = DataLoader(dataset, batch_size=6, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STEP = """\
loss = nn.functional.mse_loss(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def epochs(body: str = STEP) -> str:
    return "for epoch in range(2):\n    for x, y in loader:\n" + indented(body, 8)


def converted(text: str) -> str:
    result = convert(text.encode(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, [str(f.message) for f in result.findings]
    return result.text


def codes(text: str) -> set[str]:
    return {finding.code for finding in convert(text.encode(), path="train.py").findings}


def test_each_loop_over_a_loader_tells_its_sampler_the_epoch() -> None:
    text = converted(HEAD + SETTING + epochs() + epochs())
    assert text.count("train_sampler.set_epoch(epoch)") == 2


def test_both_loaders_of_a_zip_are_told_the_epoch_where_one_had_a_loop_before() -> None:
    second = "other = DataLoader(dataset, batch_size=6, shuffle=True)\n"
    both = epochs(STEP.replace("model(x)", "model(x + z)"))
    both = both.replace("for x, y in loader", "for (x, y), (z, _) in zip(loader, other)")
    text = converted(HEAD + SETTING + second + epochs() + both)
    assert text.count("train_sampler.set_epoch(epoch)") == 2
    assert text.count("train_sampler_2.set_epoch(epoch)") == 1


def test_a_sampler_that_is_made_after_the_first_training_is_not_named_in_it() -> None:
    train = "def train(model, loader):\n" + indented(
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n" + epochs(), 4
    )
    second = SETTING.partition("\n")[2].replace("loader =", "second =").replace("model =", "net =")
    text = converted(
        HEAD + train + SETTING + "train(model, loader)\n" + second + "train(net, second)\n"
    )
    assert "train_sampler_2.set_epoch" not in text
    assert "    loader.sampler.set_epoch(epoch)" in text


def test_a_bar_writes_once_per_job_and_numbers_of_all() -> None:
    body = STEP + "bar.write('loss {:.3f}'.format(loss.item()))\n"
    text = converted(HEAD + SETTING + "bar = tqdm(total=8)\n" + epochs(body))
    assert "format(reduce_mean(loss).item())" in text
    assert "if is_main_process():\n            bar.write(" in text


@pytest.mark.parametrize(
    "count",
    ["x.size(0) < 2", "x.shape[0] == 0", "len(x) < 2", "len(np.where(x[:, 0] > 0)[0]) == 0"],
)
def test_a_round_is_not_skipped_by_the_number_of_samples_that_one_process_picks(
    count: str,
) -> None:
    body = f"y = y[x[:, 1] > 0]\nx = x[x[:, 1] > 0]\nif {count}:\n    continue\n" + STEP
    text = HEAD + SETTING + epochs(body)
    result = convert(text.encode(), path="train.py")
    refused = "PT712" in {finding.code for finding in result.findings}
    assert refused or "if reduce_number(" in result.text


def test_a_seed_by_the_clock_in_a_worker_leaves_the_random_state_shared_before_the_model() -> None:
    script = (
        HEAD
        + "def main(epochs):\n"
        + indented(SETTING.partition("\n")[2], 4).replace(
            "shuffle=True",
            "shuffle=True, worker_init_fn=lambda x: np.random.seed(int(time.time()))",
        )
        + indented(epochs(), 4)
        + "\n\nif __name__ == '__main__':\n    epochs = 2\n    main(epochs)\n"
    )
    text = converted(script)
    assert text.index("share_random_state()\n") < text.index("model = nn.Linear(4, 1)")
    assert text.index("    share_random_state()\n") < text.rindex("cleanup_distributed()")


def test_a_seed_by_the_clock_is_followed_where_it_stands() -> None:
    seeded = "seed = int(time.time())\ntorch.manual_seed(seed)\n" + SETTING.partition("\n")[2]
    script = HEAD + "def main(epochs):\n" + indented(seeded + epochs(), 4)
    text = converted(script + "\n\nif __name__ == '__main__':\n    epochs = 2\n    main(epochs)\n")
    after = text[text.index("torch.manual_seed(seed)") :]
    assert after.index("share_random_state") < after.index("model = nn.Linear(4, 1)")


def test_a_parameter_that_a_forward_pass_sets_by_its_input_is_refused() -> None:
    norm = (
        "class Norm(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.loc = nn.Parameter(torch.zeros(1, 4))\n"
        "        self.head = nn.Linear(4, 1)\n"
        "        self.made = False\n\n"
        "    def forward(self, x):\n"
        "        if not self.made:\n"
        "            self.loc.data.copy_(-x.mean(0, keepdim=True))\n"
        "            self.made = True\n"
        "        return self.head(x + self.loc)\n\n\n"
    )
    own = SETTING.replace("nn.Linear(4, 1)", "Norm()")
    assert "PT319" in codes(HEAD + norm + own + epochs())
    harmless = norm.replace("-x.mean(0, keepdim=True)", "self.loc.data * 0.5")
    assert "PT319" not in codes(HEAD + harmless + own + epochs())


def test_a_writer_of_tensorflow_is_made_and_written_to_once_per_job() -> None:
    writer = "writer = tf.summary.FileWriter('logs')\n"
    text = converted(
        "import tensorflow as tf\n" + HEAD + SETTING + writer + epochs() + "writer.flush()\n"
    )
    assert "tf.summary.FileWriter('logs') if is_main_process() else None" in text
    assert "if is_main_process():\n    writer.flush()" in text
