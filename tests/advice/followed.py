"""Scripts that are refused, and what becomes of them where the advice is followed."""

from __future__ import annotations

from dataclasses import dataclass

BASE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(64, 4)
dataset = TensorDataset(inputs, inputs.sum(1, keepdim=True))
loader = DataLoader(dataset, batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
DATASET = "dataset = TensorDataset(inputs, inputs.sum(1, keepdim=True))\n"
LISTED = "dataset = [(one, one.sum(0, keepdim=True)) for one in inputs]\n"
EPOCHS = "for epoch in range(2):\n"
LOADER = "loader = DataLoader(dataset, batch_size=8)\n"
MODEL = "model = nn.Linear(4, 1)\n"
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
STEP = """\
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""
BATCHES = f"    for x, y in loader:\n{STEP}"
LOOP = f"for epoch in range(2):\n{BATCHES}"
SAVE = 'torch.save(model.state_dict(), "model.pt")\n'


def indented(text: str, spaces: int = 4) -> str:
    """Lines further in."""
    return "".join(" " * spaces + line for line in text.splitlines(keepends=True))


@dataclass(frozen=True)
class Advised:
    """One refusal.

    Args:
        code: of the finding.
        advice: words that it advises.
        refused: the script.
        followed: the same with the advice followed.
        options: of both conversions.
    """

    code: str
    advice: str
    refused: str
    followed: str
    options: tuple[str, ...] = ()


def changed(*pairs: tuple[str, str], text: str = BASE) -> str:
    """A script with other words."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


TRAIN = f"def train():\n{indented(LOOP)}"
FITTED = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.shift = nn.Parameter(torch.zeros(4))
        self.ready = False

    def forward(self, x):
        if not self.ready:
            self.shift.data.copy_(-x.mean(0))
            self.ready = True
        return self.body(x + self.shift)


model = Net()
"""
FITTED_BEFORE = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.shift = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return self.body(x + self.shift)


model = Net()
model.shift.data.copy_(-inputs[:8].mean(0))
"""
SPAWN = f"""\
import torch.multiprocessing as mp


{TRAIN}    {SAVE}

if __name__ == "__main__":
    worker = mp.Process(target=train)
    worker.start()
    worker.join()
"""
NOISE = """\
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.grad.add_(0.01 * torch.randn(parameter.shape))
        optimizer.step()
"""
SHAKEN = NOISE.replace("parameter.shape)", "parameter.shape, generator=noise)")
BACKWARD = "        loss.backward()\n        optimizer.step()\n"
HOOKED = """\
def step(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


optimizers = {one: torch.optim.SGD([one], lr=0.1) for one in model.parameters()}
for one in model.parameters():
    one.register_post_accumulate_grad_hook(step)
"""
BY_BACKWARD = """\
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        weight, bias = model.weight.grad, model.bias.grad
        optimizer.step()
"""
GRADIENT = """\
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        (weight, bias) = torch.autograd.grad(loss, [model.weight, model.bias])
        model.weight.grad, model.bias.grad = weight, bias
        optimizer.step()
"""

CHOSEN = """\
def best_of(*models):
    return models[0]


torch.save({"net": best_of(model), "epoch": 2}, "model.pt")
"""
CALLED = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)

    def forward(self, x):
        return self.body(x)


"""
TAUGHT = f"""\
{CALLED.rstrip()}

    def learn(self, x, y):
        loss = nn.functional.mse_loss(self.forward(x), y)
        loss.backward()


model = Net()
"""
BY_ITSELF = """\
    for x, y in loader:
        optimizer.zero_grad()
        model.learn(x, y)
        mylab.update(optimizer)
"""

CASES = [
    Advised(
        "PT104",
        "call the training function directly",
        changed((LOOP + SAVE, SPAWN)),
        changed((LOOP + SAVE, f'{TRAIN}    {SAVE}\n\nif __name__ == "__main__":\n    train()\n')),
    ),
    Advised(
        "PT105",
        "train one setting in a job of its own",
        changed(
            ("import torch\n", "import optuna\nimport torch\n"),
            (
                OPTIMIZER + LOOP + SAVE,
                "\n\ndef objective(trial):\n"
                '    rate = trial.suggest_float("lr", 0.01, 0.1)\n'
                + indented(OPTIMIZER.replace("0.1", "rate") + LOOP)
                + "    return loss.item()\n\n\n"
                'study = optuna.create_study(direction="minimize")\n'
                "study.optimize(objective, n_trials=3)\n",
            ),
        ),
        changed(
            ("import torch\n", "import argparse\nimport torch\n"),
            (
                OPTIMIZER,
                "parser = argparse.ArgumentParser()\n"
                'parser.add_argument("--lr", type=float, default=0.05)\n'
                "args = parser.parse_args()\n" + OPTIMIZER.replace("0.1", "args.lr"),
            ),
        ),
    ),
    Advised(
        "PT203",
        "draw the batches from a DataLoader",
        changed(
            (
                BATCHES,
                "    x, y = dataset.tensors\n" + indented(STEP, -0).replace("        ", "    "),
            )
        ),
        BASE,
        options=("--shard", "data"),
    ),
    Advised(
        "PT220",
        "leave them out of the data set",
        changed(
            (
                LOADER,
                "\n\ndef collate(samples):\n"
                "    kept = [one for one in samples if one[1].item() > 0]\n"
                "    return torch.utils.data.default_collate(kept)\n\n\n"
                "loader = DataLoader(dataset, batch_size=8, collate_fn=collate)\n",
            )
        ),
        changed(
            (
                LOADER,
                "kept = inputs[inputs.sum(1) > 0][:24]\n"
                "dataset = TensorDataset(kept, kept.sum(1, keepdim=True))\n" + LOADER,
            )
        ),
        options=("--shard", "data"),
    ),
    Advised(
        "PT222",
        "give the loader a batch size",
        changed((LOADER, "loader = DataLoader(dataset, batch_size=None)\n")),
        BASE,
        options=("--shard", "data"),
    ),
    Advised(
        "PT304",
        "let backward() take them",
        changed((STEP, GRADIENT)),
        changed((STEP, BY_BACKWARD)),
    ),
    Advised(
        "PT305",
        "write the loop in the script",
        changed(
            ("import torch\n", "import torch\nfrom mylab.training import Trainer\n"),
            (LOOP, "trainer = Trainer(model, optimizer)\ntrainer.fit(loader)\n"),
        ),
        BASE,
    ),
    Advised(
        "PT306",
        "give the optimizer the parameters of a model of the script",
        changed(
            ("import torch\n", "import torch\nfrom mylab.optim import groups\n"),
            ("model.parameters()", "groups()"),
        ),
        BASE,
    ),
    Advised(
        "PT407",
        "draw them from a torch.Generator that every process seeds alike",
        changed((BACKWARD, NOISE)),
        changed((BACKWARD, SHAKEN), (LOOP[:5], "noise = torch.Generator().manual_seed(7)\nfor e")),
        options=("--shard", "data"),
    ),
    Advised(
        "PT412",
        "step the optimizer behind backward()",
        changed(
            (OPTIMIZER, HOOKED),
            ("        optimizer.zero_grad()\n", ""),
            ("        optimizer.step()\n", ""),
        ),
        BASE,
    ),
    Advised(
        "PT721",
        "let every process come here",
        changed(
            ("import torch\n", "import os\nimport torch\n"),
            (
                "        loss.backward()\n",
                '        if int(os.environ.get("RANK", 0)) == 0:\n            loss.backward()\n',
            ),
        ),
        BASE,
    ),
    Advised(
        "PT722",
        "let the error end the job",
        changed(
            (
                STEP,
                "        try:\n"
                + indented(STEP)
                + '        except RuntimeError:\n            print("skipped")\n',
            )
        ),
        BASE,
    ),
    Advised(
        "PT308",
        "put what is trained into a torch.nn.Module",
        changed(
            (MODEL, f"{MODEL}weight = torch.zeros(4, 1, requires_grad=True)\n"),
            ("model(x)", "x @ weight"),
            (SAVE, 'torch.save(weight, "model.pt")\n'),
        ),
        changed((MODEL, "model = nn.Linear(4, 1, bias=False)\n")),
    ),
    Advised(
        "PT325",
        "put what is trained into a torch.nn.Module",
        changed(
            (MODEL, ""),
            (OPTIMIZER, ""),
            (
                "        optimizer.zero_grad()\n",
                "        weight = torch.zeros(4, 1, requires_grad=True)\n"
                "        optimizer = torch.optim.SGD([weight], lr=0.1)\n",
            ),
            ("model(x)", "x @ weight"),
            (SAVE, ""),
        ),
        changed((MODEL, "model = nn.Linear(4, 1, bias=False)\n")),
    ),
    Advised(
        "PT319",
        "set it before the training, from a batch that all processes have",
        changed((MODEL, FITTED)),
        changed((MODEL, FITTED_BEFORE)),
    ),
    Advised(
        "DT017",
        "take what is distributed out",
        changed(
            (
                "import torch\n",
                "import torch\nfrom mylab.dist import init_distributed_mode\n",
            ),
            (
                MODEL,
                "init_distributed_mode()\n"
                f"{MODEL}model = nn.parallel.DistributedDataParallel(model)\n",
            ),
        ),
        BASE,
    ),
    Advised(
        "PT218",
        "make the loader anew after the change, within the epoch loop",
        changed((DATASET, LISTED), (EPOCHS, f"{EPOCHS}    dataset.append(dataset[epoch])\n")),
        changed(
            (LOADER, ""),
            (DATASET, LISTED),
            (EPOCHS, f"{EPOCHS}    dataset += dataset[:8]\n    {LOADER}"),
        ),
        options=("--shard", "data"),
    ),
    Advised(
        "PT315",
        "write the model's state_dict()",
        changed((SAVE, CHOSEN)),
        changed((SAVE, CHOSEN.replace("best_of(model)", "best_of(model.state_dict())"))),
    ),
    Advised(
        "PT302",
        "keep the model in one variable from its making to its calls",
        changed(
            ("import torch\n", "import mylab\nimport torch\n"),
            (MODEL, TAUGHT),
            (BATCHES, BY_ITSELF),
        ),
        changed((MODEL, f"{CALLED}model = Net()\n")),
    ),
]
