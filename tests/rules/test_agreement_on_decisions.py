"""Decisions that processes could take differently are rank 0's; all others stay as they are."""

from __future__ import annotations

import pytest
from small_scripts import converted, findings, new_lines, script, undone

from transpile import Level, Options, convert

RULE = "agree-on-decisions"
AGREED = ("from_main_process(", "any_rank(", "all_ranks(")
VALIDATION = """with torch.no_grad():
    val = nn.functional.mse_loss(model(data.tensors[0]), data.tensors[1]).item()
"""
PLATEAU = """torch.optim.SGD(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)"""
STOPPER = """class Stopper:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.bad = 0
        self.stop = False

    def __call__(self, value):
        if value < self.best:
            self.best = value
            self.bad = 0
        else:
            self.bad += 1
            if self.bad >= self.patience:
                self.stop = True

"""
WORSE = """def worse(history, value):
    if value > min(history):
        return True
    return False

"""
CAUGHT = """try:
    if val < 0.1:
        raise Stop
except Stop:
    break"""
WHILE = """val = 9.0
while val > 0.1:
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    val = nn.functional.mse_loss(model(data.tensors[0]), data.tensors[1]).item()"""
KEPT_NUMBERS = """if os.path.exists("numbers.pt"):
    numbers = torch.load("numbers.pt")
else:
    numbers = torch.ones(3)
    torch.save(numbers, "numbers.pt")"""
BEST_WEIGHTS = """if val < best:
    best = val
    kept = {name: value.clone() for name, value in model.state_dict().items()}"""


def agreed_lines(source: str) -> list[str]:
    """The lines of the output in which the processes agree on something."""
    return [line for line in new_lines(source) if any(word in line for word in AGREED)]


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"epoch": "if val < 0.1:\n    break"}, "if from_main_process(val < 0.1):"),
        (
            {"epoch": "if epoch > 3 and val < 0.1:\n    break"},
            "if epoch > 3 and from_main_process(val < 0.1):",
        ),
        (
            {"epoch": "if not val > 0.1:\n    break"},
            "if not from_main_process(val > 0.1):",
        ),
        (
            {
                "start": "best, bad = 9.0, 0",
                "epoch": "if val < best:\n    best, bad = val, 0\nelse:\n    bad += 1\n"
                "if bad > 2:\n    break",
            },
            "if from_main_process(bad > 2):",
        ),
        (
            {
                "start": "best, bad = 9.0, 0",
                "epoch": "if val < best:\n    best, bad = val, 0\nelse:\n    bad += 1\n"
                "    if bad > 2:\n        break",
            },
            "if from_main_process(val < best):",
        ),
        (
            {
                "start": "stop = False",
                "epoch": "if val < 0.1:\n    stop = True\nif stop:\n    break",
            },
            "if from_main_process(stop):",
        ),
        (
            {
                "top": STOPPER,
                "start": "stopper = Stopper(3)",
                "epoch": "stopper(val)\nif stopper.stop:\n    break",
            },
            "if from_main_process(stopper.stop):",
        ),
        (
            {
                "top": STOPPER.replace('float("inf")', "None").replace(
                    "if value < self.best:",
                    "if self.best is None:\n            self.best = value\n"
                    "        elif value < self.best:",
                ),
                "start": "stopper = Stopper(3)",
                "epoch": "stopper(val)\nif stopper.stop:\n    break",
            },
            "if from_main_process(stopper.stop):",
        ),
        (
            {"top": WORSE, "start": "past = [9.0]", "epoch": "if worse(past, val):\n    break"},
            "if from_main_process(worse(past, val)):",
        ),
        (
            {"epoch": "if val > 1:\n    for group in optimizer.param_groups:\n"
             "        group['lr'] *= 0.5"},
            "if from_main_process(val > 1):",
        ),
        ({"epoch": "if val < 0.1:\n    raise SystemExit"}, None),
        (
            {"top": "import sys\n", "epoch": "if val < 0.1:\n    sys.exit(0)"},
            "if from_main_process(val < 0.1):",
        ),
        ({"top": "import sys\n", "epoch": "if val < 0.1:\n    sys.exit(1)"}, None),
        (
            {"top": "class Stop(Exception):\n    pass\n\n", "epoch": CAUGHT},
            "if from_main_process(val < 0.1):",
        ),
        (
            {
                "top": "from collections import deque\n",
                "start": "recent = deque(maxlen=3)",
                "epoch": "recent.append(val)\nif max(recent) - min(recent) < 1e-4:\n    break",
            },
            "if from_main_process(max(recent) - min(recent) < 1e-4):",
        ),
        ({"epoch": "pass", "end": WHILE}, "while from_main_process(val > 0.1):"),
        (
            {
                "start": "best, kept = 9.0, None",
                "epoch": BEST_WEIGHTS,
                "end": "model.load_state_dict(kept)",
            },
            "if from_main_process(val < best):",
        ),
    ],
)  # fmt: skip
def test_decisions_on_results_of_the_model_are_those_of_rank_0(
    parts: dict[str, str], line: str | None
) -> None:
    parts = {**parts, "epoch": VALIDATION + parts["epoch"]}
    source = script(**parts)
    assert agreed_lines(source) == ([line] if line else [])
    if line:
        assert undone(source, RULE) == []


COPIES = {
    "copy.deepcopy(model)": "copied",
    "AveragedModel(model)": "copied",
    "AveragedModel(model, avg_fn=print)": "copied.module",
    "Average(model)": "copied.shadow",
    "ema_pytorch.EMA(model, beta=0.99)": "copied",
    "timm.utils.ModelEmaV2(model)": "copied.module",
}
AVERAGE = """
import copy, ema_pytorch, timm
from torch.optim.swa_utils import AveragedModel


class Average:
    def __init__(self, model):
        self.shadow = copy.deepcopy(model)
"""


@pytest.mark.parametrize("made", COPIES)
@pytest.mark.parametrize("use", ["if val > 1:\n    break", "scheduler.step(val)"])
def test_decisions_on_results_of_a_copy_are_those_of_rank_0(made: str, use: str) -> None:
    source = script(
        top=AVERAGE,
        model=f"copied = {made}",
        epoch=VALIDATION.replace("model(", f"{COPIES[made]}(") + use,
        optimizer=PLATEAU,
    )
    decided = use.replace("val > 1", "from_main_process(val > 1)").replace(
        "step(val)", "step(from_main_process(val))"
    )
    assert agreed_lines(source) == [decided.partition("\n")[0]]


@pytest.mark.parametrize(
    "norm",
    [
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "torch.norm(torch.stack([p.norm() for p in model.parameters()]))",
        "sum(p.norm() for p in model.parameters())",
        "sum(p.pow(2).sum() for p in model.parameters()).sqrt()",
        'model.state_dict()["weight"].std()',
        "torch.cat([p.detach().flatten() for p in model.parameters()]).norm()",
    ],
)
def test_decisions_on_norms_are_those_of_rank_0(norm: str) -> None:
    source = script(batch="pass", step=f"if {norm} > 9:\n    break")
    text = "".join(converted(source).text.split()).replace("unwrap(model)", "model")
    assert "".join(f"if from_main_process({norm} > 9):".split()) in text
    assert len(agreed_lines(source)) == 1
    assert agreed_lines(script(step=f"print({norm})")) == []
    assert agreed_lines(source.replace("cuda:", "cpu:")) == []


#: What sums on a GPU are taken of.
TABLES = """table = torch.ones(9, 3)
old = copy.deepcopy(model.state_dict())
device = torch.device(args.device)"""


@pytest.mark.parametrize(
    "number",
    [
        "sum((p - q).pow(2).sum() for p, q in zip(model.parameters(), old.values()))",
        "(model.weight - old['weight']).abs().mean()",
        "(table.to(device) @ table.to(device).t()).max()",
        "torch.einsum('ij,kj->ik', table.cuda(), table.cuda()).max()",
        "torch.ones(9, device=device).softmax(0).max()",
        "torch.cdist(old['weight'].cuda(), table.cuda()).min().item()",
        "device.index",
        "torch.cuda.current_device()",
        "table.cuda().get_device()",
    ],
)
def test_decisions_on_sums_and_numbers_of_gpus_are_those_of_rank_0(number: str) -> None:
    source = script(top="import copy", model=TABLES, step=f"if {number} > 9:\n    break")
    (line,) = agreed_lines(source)
    assert line.startswith("if from_main_process(")


@pytest.mark.parametrize(
    "number",
    [
        "table.sum()",
        "table.cuda().cpu().sum()",
        "(table @ table.t()).max()",
        "table.to(torch.float64).mean()",
        "torch.ones(9, device='cpu').mean()",
        "sum(row for row in table.to(device).tolist()[0])",
    ],
)
def test_what_is_not_added_up_on_gpus_is_left(number: str) -> None:
    source = script(top="import copy", model=TABLES, step=f"if {number} > 9:\n    break")
    assert agreed_lines(source) == []


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {
                "top": "import time\n",
                "start": "begin = time.time()",
                "step": "if time.time() - begin > 60:\n    break",
            },
            "if from_main_process(time.time() - begin > 60):",
        ),
        (
            {"top": "import random\n", "batch": "if random.random() < 0.5:\n    continue"},
            "if from_main_process(random.random() < 0.5):",
        ),
        (
            {
                "start": "begin, end = torch.cuda.Event(), torch.cuda.Event()",
                "step": "if begin.elapsed_time(end) > 60:\n    break",
            },
            "if from_main_process(begin.elapsed_time(end) > 60):",
        ),
        (
            {"step": "if torch.cuda.utilization() < 5:\n    break"},
            "if from_main_process(torch.cuda.utilization() < 5):",
        ),
        (
            {"step": "if torch.cuda.memory_allocated() > 1e9:\n    break"},
            "if from_main_process(torch.cuda.memory_allocated() > 1e9):",
        ),
        (
            {
                "resume": 'if os.path.exists("m.pt"):\n'
                '    model.load_state_dict(torch.load("m.pt"))',
            },
            'if from_main_process(os.path.exists("m.pt")):',
        ),
        (
            {
                "step": 'if os.path.exists(os.path.join("out", "stop")):\n    break',
                "end": 'open("out/stop", "w").close()',
            },
            'if from_main_process(os.path.exists(os.path.join("out", "stop"))):',
        ),
    ],
)
def test_decisions_on_the_machine_are_those_of_rank_0(parts: dict[str, str], line: str) -> None:
    source = script(**parts)
    assert agreed_lines(source) == [line]
    assert undone(source, RULE) == []


@pytest.mark.parametrize("shard", ["data", "calls"])
@pytest.mark.parametrize(
    ("made", "drawn"),
    [
        ("own = random.Random()", "own.random() < 0.5"),
        ("own = np.random.default_rng()", "own.random() < 0.5"),
        ("own = np.random.RandomState(None)", "own.rand() < 0.5"),
        ("own = random.Random(time.time())", "own.choice([True, False])"),
        ("own = os", "own.urandom(1) < b'd'"),
        ("", "np.random.default_rng().random() < 0.5"),
        ("", "secrets.randbelow(2) == 0"),
        ("", "random.SystemRandom().random() < 0.5"),
    ],
)
def test_decisions_by_private_chance_are_those_of_rank_0(made: str, drawn: str, shard: str) -> None:
    top = "import os\nimport random\nimport secrets\nimport time\nimport numpy as np\n"
    source = script(top=top, start=made, batch=f"if {drawn}:\n    continue")
    result = convert(source, Options(shard=shard), path="train.py")  # type: ignore[arg-type]
    assert f"if from_main_process({drawn}):" in result.text
    seeded = source.replace("Random()", "Random(1)").replace("default_rng()", "default_rng(1)")
    if seeded != source and "SystemRandom" not in drawn:
        text = convert(seeded, Options(shard=shard), path="train.py").text  # type: ignore[arg-type]
        assert "from_main_process(own" not in text


@pytest.mark.parametrize(
    "parts",
    [
        {"start": "steps = 0", "step": "steps += 1\nif steps >= args.max_steps:\n    break"},
        {"step": "if epoch == 1 and len(loader) > 3:\n    break"},
        {"batch": "if len(x) < 2 or x.size(0) < 2 or x.shape[0] < 2:\n    continue"},
        {"start": "best = 9.0", "epoch": VALIDATION + "if val < best:\n    best = val\n"
         '    torch.save(model.state_dict(), "m.pt")'},
        {"epoch": VALIDATION + "if val < 0.1:\n    print('good')"},
        {"start": "if args.gpu:\n    return"},
        {"start": "if not torch.cuda.is_available():\n    print('slow')"},
        {"resume": 'if not os.path.exists("out"):\n    os.makedirs("out")'},
        {"optimizer": PLATEAU.replace("ReduceLROnPlateau(optimizer", "StepLR(optimizer, 1"),
         "epoch": "scheduler.step()"},
        {"resume": KEPT_NUMBERS, "step": "if numbers.sum() > 10:\n    break"},
        {"start": "total, best = 0.0, 9.0", "step": "total += loss.item()",
         "epoch": "if total > best:\n    break\nbest = total"},
    ],
)  # fmt: skip
def test_what_is_equal_or_harmless_stays(parts: dict[str, str]) -> None:
    assert agreed_lines(script(**parts)) == []


PART = """at, many = {at}, {many}
part = table.narrow(1, at, many)
if part.size(1) > 2:
    break"""


@pytest.mark.parametrize(
    ("at", "many", "lines"),
    [
        ("1", "random.randint(0, 2)", ["if from_main_process(part.size(1) > 2):"]),
        ("random.randint(0, 1)", "2", []),
        ("1", "2", []),
    ],
)
def test_parts_are_as_long_as_they_are_told_wherever_they_begin(
    at: str, many: str, lines: list[str]
) -> None:
    step = PART.format(at=at, many=many)
    source = script(top="import random\n", start="table = torch.randn(8, 3)", step=step)
    assert agreed_lines(source) == lines


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"batch": "if torch.isnan(nn.functional.mse_loss(model(x), y)):\n    continue"},
         "if any_rank(torch.isnan(nn.functional.mse_loss(model(x), y))):"),
        ({"batch": "if not torch.isfinite(x).all():\n    continue"},
         "if any_rank(not torch.isfinite(x).all()):"),
        ({"batch": "error = nn.functional.mse_loss(model(x), y)\nif torch.isfinite(error):\n"
          "    error.backward()"},
         "if all_ranks(torch.isfinite(error)):"),
        ({"batch": "bad = torch.isnan(x).any()\nif bad:\n    continue"}, "if any_rank(bad):"),
    ],
)  # fmt: skip
def test_a_check_for_nan_holds_on_all_ranks_as_soon_as_it_does_on_one(
    parts: dict[str, str], line: str
) -> None:
    source = script(**parts)
    assert agreed_lines(source) == [line]
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "batch",
    [
        "if x[0, 0] > 0:\n    continue",
        "bad = torch.isnan(x).any()\nif epoch:\n    bad = x[0, 0] > 0\nif bad:\n    continue",
        "if y.size(1) > 3:\n    continue",
        "for _ in range(int(x[0, 0])):\n    optimizer.step()",
    ],
)
def test_other_decisions_on_one_part_of_the_batch_are_refused(batch: str) -> None:
    found = findings(script(batch=batch), "PT712")
    assert [level for level, _, _ in found] == [Level.ERROR]
    assert "this process's own part of the batch" in found[0][2]


def test_a_scheduler_is_given_the_number_of_rank_0() -> None:
    source = script(optimizer=PLATEAU, epoch=VALIDATION + "scheduler.step(val)")
    assert agreed_lines(source) == ["scheduler.step(from_main_process(val))"]
    assert undone(source, RULE) == []


def test_a_number_of_rounds_is_that_of_rank_0() -> None:
    rounds = "for _ in range(random.randint(1, 3)):\n    optimizer.step()"
    source = script(top="import random\n", batch=rounds)
    assert agreed_lines(source) == ["for _ in range(from_main_process(random.randint(1, 3))):"]
    assert undone(source, RULE) == []


def test_a_decision_that_all_take_alike_makes_what_follows_from_it_equal() -> None:
    source = script(
        start="count = 0",
        step="if count > 100:\n    break\nif torch.isnan(x).any():\n    count += 1000\n    break\n"
        "count += 1",
    )
    assert agreed_lines(source) == ["if any_rank(torch.isnan(x).any()):"]


def test_names_of_the_script_are_left_alone() -> None:
    source = script(
        top="def from_main_process(x):\n    return x\n\n",
        epoch=VALIDATION + "if val < 0.1:\n    break",
    )
    assert "if from_main_process_2(val < 0.1):" in new_lines(source)
    assert "def from_main_process_2(value: Any) -> Any:" in converted(source).text


def test_a_signal_to_any_process_counts_for_all() -> None:
    source = script(
        top="import signal\nasked = False\n\n\ndef handle(number, frame):\n    global asked\n"
        "    asked = True\n\n",
        start="signal.signal(signal.SIGTERM, handle)",
        step="if asked:\n    break",
    )
    assert agreed_lines(source) == ["if any_rank(asked):"]
    assert undone(source, RULE) == []


def test_a_choice_between_values_is_that_of_rank_0() -> None:
    source = script(
        epoch=VALIDATION + "rate = 0.1 if val > 1 else 0.01\n"
        "for group in optimizer.param_groups:\n    group['lr'] = rate"
    )
    assert agreed_lines(source) == ["rate = 0.1 if from_main_process(val > 1) else 0.01"]
    assert undone(source, RULE) == []


def test_what_rank_0_decides_by_its_own_part_is_reported() -> None:
    source = script(
        start="worst = 0.0", batch="worst = x.max() * x.min()", epoch="if worst > 1:\n    break"
    )
    assert agreed_lines(source) == ["if from_main_process(worst > 1):"]
    assert [level for level, _, _ in findings(source, "PT715")] == [Level.WARNING]


@pytest.mark.parametrize(
    ("test", "level"),
    [("time.time() % 2 > 1", Level.ERROR), ("os.path.exists('m.pt')", Level.WARNING)],
)
def test_a_decision_before_the_processes_know_each_other_is_reported(
    test: str, level: Level
) -> None:
    source = script(
        top=f"import sys\nimport time\nif {test}:\n    sys.exit(0)\n",
        end="torch.save(model.state_dict(), 'm.pt')",
    )
    assert [found for found, _, _ in findings(source, "PT714")] == [level]
    assert agreed_lines(source) == []


def test_a_number_that_is_reduced_is_agreed_on_once_it_is() -> None:
    source = script(
        optimizer=PLATEAU,
        start="run = torch.zeros(())",
        step="run += loss.detach() * y.numel()",
        epoch="scheduler.step(run / len(data))\nprint(run.item() / len(data))\nrun.zero_()",
    )
    result = convert(source.encode(), Options(shard="data"))
    assert "scheduler.step(reduce_sum(run / len(data)))" in result.text
