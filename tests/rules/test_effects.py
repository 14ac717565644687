"""What a script prints, writes, logs, tracks and downloads happens once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from data_way import convert
from small_scripts import converted, findings, new_lines, script

from transpile import Level, Options, Verdict

RULES = (
    "print-once", "write-once", "open-once", "log-once", "track-once", "progress-once",
    "prepare-once", "wait-before-reading",
)  # fmt: skip
GUARD = "if is_main_process():"

#: Parts of the script, and lines that the output has in their place, in this order.
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "print": ({"epoch": "print('epoch', epoch)"}, ["print_once('epoch', epoch)"]),
    "print with an effectful argument": (
        {"epoch": "print('eval', model(x).shape)"},
        ["print_once('eval', model(x).shape)"],
    ),
    "a folder named by the clock": (
        {
            "top": "import time\nimport uuid",
            "start": "path = f'{time.time()}-{uuid.uuid4().hex}.pt'",
            "epoch": "torch.save(model.state_dict(), path)",
            "end": "model.load_state_dict(torch.load(path))",
        },
        ["path = f'{from_main_process(time.time())}-{from_main_process(uuid.uuid4()).hex}.pt'"],
    ),
    "print to standard output by name": (
        {"top": "import sys", "epoch": "print('x', file=sys.stdout)"},
        ["print_once('x', file=sys.stdout)"],
    ),
    "print handed on": (
        {"epoch": "list(map(print, [1, 2]))"},
        ["list(map(print_once, [1, 2]))"],
    ),
    "print bound anew": (
        {
            "top": "import functools\nprint = functools.partial(print, flush=True)",
            "epoch": "print('x')",
        },
        [GUARD, "print('x')"],
    ),
    "print of another library": (
        {"top": "from rich import print as show", "epoch": "show('x')"},
        [GUARD, "show('x')"],
    ),
    "raw output with its flush": (
        {"top": "import sys", "epoch": "sys.stdout.write('.')\nsys.stdout.flush()"},
        [GUARD, "sys.stdout.write('.')", "sys.stdout.flush()"],
    ),
    "condition extended": (
        {"end": "if args.lr:\n    torch.save(model.state_dict(), 'm.pt')"},
        ["if args.lr and is_main_process():"],
    ),
    "condition with or": (
        {"end": "if args.lr or args.gpu:\n    torch.save(model.state_dict(), 'm.pt')"},
        ["if (args.lr or args.gpu) and is_main_process():"],
    ),
    "condition with or in parentheses": (
        {"end": "if (args.lr or args.gpu):\n    torch.save(model.state_dict(), 'm.pt')"},
        ["if (args.lr or args.gpu) and is_main_process():"],
    ),
    "condition with an else": (
        {
            "end": "if args.lr:\n    torch.save(model.state_dict(), 'm.pt')\nelse:\n    x = 1\n"
            "print(x)"
        },
        ["if args.lr:", GUARD, "torch.save(model.state_dict(), 'm.pt')", "else:", "x = 1"],
    ),
    "condition on one line": (
        {"end": "if args.lr: torch.save(model.state_dict(), 'm.pt')"},
        ["if args.lr and is_main_process(): torch.save(model.state_dict(), 'm.pt')"],
    ),
    "neighbours under one guard": (
        {
            "end": "os.makedirs('out', exist_ok=True)\npath = os.path.join('out', 'm.pt')\n"
            "torch.save(model.state_dict(), path)"
        },
        [
            GUARD,
            "os.makedirs('out', exist_ok=True)",
            "path = os.path.join('out', 'm.pt')",
            "torch.save(model.state_dict(), path)",
        ],
    ),
    "a name that is used later": (
        {
            "end": "os.makedirs('out', exist_ok=True)\npath = os.path.join('out', 'm.pt')\n"
            "torch.save(model.state_dict(), path)\nmodel.path = path"
        },
        [
            GUARD,
            "os.makedirs('out', exist_ok=True)",
            "path = os.path.join('out', 'm.pt')",
            GUARD,
            "torch.save(model.state_dict(), path)",
            "model.path = path",
        ],
    ),
    "a value that carries over": (
        {
            "resume": "best = 9.0",
            "epoch": "if args.lr < best:\n    best = args.lr\n"
            "    torch.save(model.state_dict(), 'm.pt')",
        },
        ["if args.lr < best:", "best = args.lr", GUARD, "torch.save(model.state_dict(), 'm.pt')"],
    ),
    "an argument that does more than read": (
        {"end": "torch.save(model(x), f='m.pt')"},
        ["model_result = model(x)", GUARD, "torch.save(model_result, f='m.pt')"],
    ),
    "an argument over several lines": (
        {"end": "torch.save(model(\n    x\n), 'm.pt')"},
        ["model_result = model(", "x", ")", GUARD, "torch.save(model_result, 'm.pt')"],
    ),
    "random numbers": (
        {"end": "torch.save(torch.randn(3), 'm.pt')"},
        ["randn_result = torch.randn(3)", GUARD, "torch.save(randn_result, 'm.pt')"],
    ),
    "two statements on one line": (
        {"end": "x = 1; torch.save(x, 'm.pt')"},
        ["x = 1", GUARD, "torch.save(x, 'm.pt')"],
    ),
    "a try around": (
        {"end": "try:\n    os.makedirs('out')\nexcept OSError:\n    pass"},
        [GUARD, "try:", "os.makedirs('out')", "except OSError:", "pass"],
    ),
    "a try that raises": (
        {"end": "try:\n    os.makedirs('out')\nexcept OSError:\n    raise"},
        ["try:", GUARD, "os.makedirs('out')", "except OSError:", "raise"],
    ),
    "a lambda": (
        {"top": "import sys\nsay = lambda text: sys.stdout.write(text)", "epoch": "say('x')"},
        ["say = lambda text: sys.stdout.write(text) if is_main_process() else None"],
    ),
    "a configuration that is saved": (
        {"top": "from omegaconf import OmegaConf", "end": "OmegaConf.save({'a': 1}, 'a.yaml')"},
        [GUARD, "OmegaConf.save({'a': 1}, 'a.yaml')"],
    ),
    "a file that is written at once": (
        {"top": "import json", "end": "with open('a.json', 'w') as f:\n    json.dump([1], f)"},
        [GUARD, "with open('a.json', 'w') as f:", "json.dump([1], f)"],
    ),
    "a file that is written by a forward pass": (
        {"end": "with open('a.txt', 'w') as f:\n    for x, y in loader:\n        f.write(str(x))"},
        ["with open('a.txt' if is_main_process() else os.devnull, 'w') as f:"],
    ),
    "a file that stays open": (
        {"start": "log = open('a.txt', 'a')", "epoch": "log.write('x')", "end": "log.close()"},
        ["log = open('a.txt' if is_main_process() else os.devnull, 'a')"],
    ),
    "a new file that stays open": (
        {"start": "log = open('a.txt', 'xb')", "epoch": "log.write(b'x')"},
        ["log = open('a.txt', 'xb') if is_main_process() else open(os.devnull, \"wb\")"],
    ),
    "a path that opens": (
        {
            "top": "from pathlib import Path",
            "start": "log = Path('a.txt').open('w')",
            "epoch": "log.write('x')",
        },
        ["log = Path('a.txt').open('w') if is_main_process() else open(os.devnull, \"w\")"],
    ),
    "a log file": (
        {"top": "import logging", "start": "logging.basicConfig(filename='a.log')"},
        ["logging.basicConfig(filename='a.log' if is_main_process() else os.devnull)"],
    ),
    "a log file that rotates": (
        {
            "top": "import logging\nfrom logging.handlers import RotatingFileHandler",
            "start": "handler = RotatingFileHandler('a.log')\nlogging.root.addHandler(handler)",
        },
        [
            "handler = RotatingFileHandler('a.log') if is_main_process() else "
            "logging.NullHandler()"
        ],
    ),
    "messages": (
        {"top": "import logging", "epoch": "logging.info('x')"},
        [
            "args = parser.parse_args()",
            "if not is_main_process():",
            "logging.disable(logging.INFO)",
        ],
    ),
    "messages of a logger before the set-up": (
        {
            "top": "import logging\nlog = logging.getLogger(__name__)\nlog.info('starts')",
            "epoch": "log.debug('x')",
        },
        ["if not is_main_process():", "logging.disable(logging.INFO)", "log.info('starts')"],
    ),
    "a progress bar": (
        {"top": "from tqdm import tqdm", "epoch": "for _ in tqdm(range(3)):\n    pass"},
        ["for _ in tqdm(range(3), disable=not is_main_process()):"],
    ),
    "a progress bar with a switch": (
        {
            "top": "from tqdm import tqdm",
            "epoch": "for _ in tqdm(range(3), disable=args.gpu > 1):\n    pass",
        },
        ["for _ in tqdm(range(3), disable=args.gpu > 1 or not is_main_process()):"],
    ),
    "a progress bar that asks for a terminal": (
        {"top": "from tqdm import trange", "epoch": "for _ in trange(3, disable=None):\n    pass"},
        ["for _ in trange(3, disable=None if is_main_process() else True):"],
    ),
    "a progress bar that is on": (
        {"top": "from tqdm import trange", "epoch": "for _ in trange(3, disable=False):\n    pass"},
        ["for _ in trange(3, disable=not is_main_process()):"],
    ),
    "a summary writer": (
        {
            "top": "from torch.utils.tensorboard import SummaryWriter",
            "start": "writer = SummaryWriter('runs')",
            "epoch": "writer.add_scalar('epoch', epoch)",
        },
        [
            "writer = SummaryWriter('runs') if is_main_process() else None",
            GUARD,
            "writer.add_scalar('epoch', epoch)",
        ],
    ),
    "a summary writer of TensorFlow 1": (
        {
            "top": "import tensorflow as tf",
            "start": "writer = tf.summary.FileWriter('runs')",
            "epoch": "summary = tf.Summary(value=[])\nwriter.add_summary(summary, epoch)",
        },
        [
            "writer = tf.summary.FileWriter('runs') if is_main_process() else None",
            GUARD,
            "writer.add_summary(summary, epoch)",
        ],
    ),
    "a summary writer of TensorFlow 2": (
        {
            "top": "import tensorflow as tf",
            "start": "writer = tf.summary.create_file_writer('runs')",
            "epoch": "with writer.as_default():\n"
            "    tf.summary.scalar('loss', loss.item(), step=epoch)",
        },
        [
            "with writer.as_default() if is_main_process() else ExitStack():",
            "item_result = reduce_mean(loss).item()",
            GUARD,
            "tf.summary.scalar('loss', item_result, step=epoch)",
        ],
    ),
    "a summary writer on demand": (
        {
            "top": "from torch.utils.tensorboard import SummaryWriter",
            "start": "writer = SummaryWriter('runs') if args.gpu else None",
            "epoch": "if writer:\n    writer.add_scalar('epoch', epoch)",
        },
        [
            "writer = (SummaryWriter('runs') if is_main_process() else None) if args.gpu else None",
            "if writer and is_main_process():",
        ],
    ),
    "a summary writer around a block": (
        {
            "top": "from torch.utils.tensorboard import SummaryWriter",
            "epoch": "with SummaryWriter('runs') as writer:\n    model(x)\n"
            "    writer.add_scalar('epoch', epoch)",
        },
        ["with SummaryWriter('runs') if is_main_process() else ExitStack() as writer:", "model(x)"],
    ),
    "a run of a tracker around a block": (
        {
            "top": "import mlflow",
            "epoch": "with mlflow.start_run():\n    model(x)\n"
            "    mlflow.log_metric('epoch', epoch)",
        },
        [
            "with mlflow.start_run() if is_main_process() else ExitStack():",
            "model(x)",
            GUARD,
            "mlflow.log_metric('epoch', epoch)",
        ],
    ),
    "a tracker with a switch": (
        {"top": "import wandb", "start": "wandb.init(project='x')", "epoch": "wandb.log({'a': 1})"},
        [
            "wandb.init(project='x', mode=None if is_main_process() else \"disabled\")",
            "wandb.log({'a': 1})",
        ],
    ),
    "a tracker that has a mode": (
        {"top": "import wandb", "start": "wandb.init(mode='offline')"},
        ["wandb.init(mode='offline' if is_main_process() else \"disabled\")"],
    ),
    "what all processes evaluate together, in a statement": (
        {"end": "torch.save(list({object()}), 'ids.pt')"},
        [
            "list_result = from_main_process(list({object()}))",
            GUARD,
            "torch.save(list_result, 'ids.pt')",
        ],
    ),
    "what all processes evaluate together, in a block": (
        {
            "top": "import json",
            "end": "with open('ids.json', 'w') as f:\n    json.dump(list({object()}), f)",
        },
        [
            "with open('ids.json' if is_main_process() else os.devnull, 'w') as f:",
            "list_result = from_main_process(list({object()}))",
            GUARD,
            "json.dump(list_result, f)",
        ],
    ),
    "a logger that nothing silences": (
        {"top": "from loguru import logger", "epoch": "logger.info('x')\nlogger.error('y')"},
        [GUARD, "logger.info('x')", "logger.error('y')"],
    ),
    "a number that all processes reduce": (
        {"step": "torch.save(loss.item(), 'loss.pt')"},
        ["item_result = reduce_mean(loss).item()", GUARD, "torch.save(item_result, 'loss.pt')"],
    ),
    "plots with what leads to them": (
        {
            "top": "import matplotlib.pyplot as plt",
            "end": "plt.figure()\nplt.plot([1, 2])\nplt.savefig('a.png')\nplt.close()",
        },
        [GUARD, "plt.figure()", "plt.plot([1, 2])", "plt.savefig('a.png')", "plt.close()"],
    ),
    "a data set of the project that a library's makes": (
        {
            "top": "from torchvision.datasets import MNIST\n\n"
            "class Digits(MNIST):\n    classes = 10",
            "start": "digits = Digits('data', download=True)",
        },
        ["with main_process_first():", "digits = Digits('data', download=True)"],
    ),
    "a data set that hands on by position that it downloads": (
        {
            "top": "from torchvision.datasets import MNIST\n\nclass Digits(MNIST):\n"
            "    def __init__(self, root, train=True, download=False):\n"
            "        super().__init__(root, train, None, None, download)",
            "start": "digits = Digits('data', download=True)",
        },
        ["with main_process_first():", "super().__init__(root, train, None, None, download)"],
    ),
    "a download": (
        {
            "top": "from torchvision import datasets",
            "resume": "test = datasets.MNIST('.', train=False, download=True)",
        },
        [
            "with main_process_first():",
            "test = datasets.MNIST('.', train=False, download=True)",
        ],
    ),
    "downloads beside each other": (
        {
            "top": "from torchvision import datasets",
            "resume": "one = datasets.MNIST('.', download=True)\n"
            "two = datasets.MNIST('.', train=False, download=args.gpu)",
        },
        [
            "with main_process_first():",
            "one = datasets.MNIST('.', download=True)",
            "two = datasets.MNIST('.', train=False, download=args.gpu)",
        ],
    ),
    "a download where something is missing": (
        {
            "top": "from urllib.request import urlretrieve",
            "resume": "if not os.path.exists('a.zip'):\n    print('fetch')\n"
            "    urlretrieve('http://x', 'a.zip')",
        },
        [
            "with main_process_first():",
            "if not os.path.exists('a.zip'):",
            "print_once('fetch')",
            "urlretrieve('http://x', 'a.zip')",
        ],
    ),
    "a download where something else fails": (
        {
            "top": "from torchvision import datasets",
            "resume": "try:\n    test = datasets.MNIST('.')\nexcept RuntimeError:\n"
            "    test = datasets.MNIST('.', download=True)",
        },
        ["with main_process_first():", "try:", "test = datasets.MNIST('.')"],
    ),
    "a folder and the download into it": (
        {
            "top": "from urllib.request import urlretrieve",
            "resume": "os.makedirs('data', exist_ok=True)\nurlretrieve('http://x', 'data/a.zip')",
        },
        [
            "with main_process_first():",
            "os.makedirs('data', exist_ok=True)",
            "urlretrieve('http://x', 'data/a.zip')",
        ],
    ),
    "weights that are fetched": (
        {
            "top": "from torchvision import models",
            "resume": "teacher = models.resnet18(pretrained=True)",
        },
        ["with main_process_first():", "teacher = models.resnet18(pretrained=True)"],
    ),
    "a file that is made where it is missing": (
        {
            "top": "\ndef make(path):\n    with open(path, 'w') as f:\n        f.write('x')\n",
            "start": "lines = None\n",
            "resume": "if not os.path.exists('a.txt'):\n    make('a.txt')\n"
            "with open('a.txt') as f:\n    lines = f.read()",
        },
        [
            "with open(path, 'w') as f:",
            "with main_process_first():",
            "if not os.path.exists('a.txt'):",
            "make('a.txt')",
        ],
    ),
    "a checkpoint that is read back": (
        {
            "epoch": "torch.save(model.state_dict(), 'best.pt')",
            "end": "model.load_state_dict(torch.load('best.pt'))",
        },
        [
            GUARD,
            "torch.save(model.state_dict(), 'best.pt')",
            "barrier()",
            "model.load_state_dict(torch.load('best.pt', map_location=\"cpu\"))",
        ],
    ),
    "a checkpoint that is looked for": (
        {
            "epoch": "torch.save(model.state_dict(), args.device)",
            "end": "if os.path.exists(args.device):\n"
            "    model.load_state_dict(torch.load(args.device))",
        },
        ["barrier()", "if from_main_process(os.path.exists(args.device)):"],
    ),
    "a checkpoint that is read in the next round": (
        {
            "epoch": "if epoch:\n    model.load_state_dict(torch.load('best.pt'))\n"
            "torch.save(model.state_dict(), 'best.pt')"
        },
        ["barrier()", "if epoch:"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_effect_happens_once(name: str) -> None:
    parts, expected = CASES[name]
    text = converted(script(**parts)).text
    compile(text, name, "exec")
    lines = [line.strip().replace("unwrap(model)", "model") for line in text.splitlines()]
    position = 0
    for line in expected:
        assert line in lines[position:], f"{line!r} is missing in\n{text}"
        position += lines[position:].index(line) + 1


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_to_do_on_the_output(name: str) -> None:
    first = converted(script(**CASES[name][0]))
    again = converted(first.text, respect_distributed=False)
    left = [
        decision
        for decision in again.decisions
        if decision.rule in RULES and decision.verdict is not Verdict.ALREADY_DONE
    ]
    assert left == []


#: Parts that no rule of effects may change.
UNTOUCHED = {
    "standard error": {"top": "import sys", "epoch": "print('x', file=sys.stderr)"},
    "a warning": {"top": "import warnings", "epoch": "warnings.warn('x')"},
    "warnings that are logged": {"top": "import logging", "epoch": "logging.warning('x')"},
    "a file that is read": {"start": "text = open('a.txt').read()"},
    "a buffer": {"top": "import io", "epoch": "torch.save(model.state_dict(), io.BytesIO())"},
    "a database in memory": {
        "top": "import sqlite3\n\n\nclass Tracker:\n    def __init__(self, path=':memory:'):\n"
        "        self.db = sqlite3.connect(path)\n",
        "epoch": "tracker = Tracker()\nrows = tracker.db.execute('select 1').fetchone()[0]",
    },
    "a temporary folder": {
        "top": "import tempfile",
        "epoch": "with tempfile.TemporaryDirectory() as folder:\n"
        "    torch.save(model.state_dict(), os.path.join(folder, 'm.pt'))\n"
        "    model.load_state_dict(torch.load(os.path.join(folder, 'm.pt')))",
    },
    "a data set that is there": {
        "top": "from torchvision import datasets",
        "resume": "test = datasets.MNIST('.', train=False)",
    },
    "a helper that knows the rank": {
        "top": "import torch.distributed as dist\n\ndef log(text):\n"
        "    if not dist.is_initialized() or dist.get_rank() == 0:\n        print(text)\n",
        "epoch": "log('x')",
    },
    "a helper that leaves early": {
        "top": "import torch.distributed as dist\n\ndef log(text):\n"
        "    if dist.is_initialized() and dist.get_rank() != 0:\n        return\n"
        "    print(text)\n    torch.save(text, 'text.pt')\n",
        "epoch": "log('x')",
    },
    "a helper that is told the rank": {
        "top": "\ndef log(text, rank):\n    if rank == 0:\n        print(text)\n",
        "epoch": "log('x', int(os.environ.get('RANK', 0)))",
    },
    "a bar that is off": {
        "top": "from tqdm import tqdm",
        "epoch": "for _ in tqdm(range(3), disable=True):\n    pass",
    },
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_needs_no_guard_stays(name: str) -> None:
    source = script(**UNTOUCHED[name])
    assert not [line for line in new_lines(source) if "is_main_process" in line]
    text = converted(source).text
    for helper in ("print_once", "main_process_first", "barrier()"):
        assert helper not in text.replace("dist.barrier()", "")


def test_resuming_waits_for_nothing() -> None:
    source = script(
        resume="if os.path.exists('m.pt'):\n    model.load_state_dict(torch.load('m.pt'))",
        end="torch.save(model.state_dict(), 'm.pt')",
    )
    assert "barrier()" not in new_lines(source)


def test_arms_of_one_condition_do_not_wait_for_each_other() -> None:
    source = script(
        end="if args.gpu:\n    torch.save(model.state_dict(), 'm.pt')\nelse:\n"
        "    model.load_state_dict(torch.load('m.pt'))",
    )
    assert "barrier()" not in new_lines(source)


def test_one_barrier_serves_several_reads() -> None:
    source = script(
        epoch="torch.save(model.state_dict(), 'a.pt')\ntorch.save(args, 'b.pt')",
        end="model.load_state_dict(torch.load('a.pt'))\nmodel.args = torch.load('b.pt')",
    )
    assert new_lines(source).count("barrier()") == 1


def test_no_barrier_stands_under_a_guard() -> None:
    source = script(
        epoch="os.makedirs('out', exist_ok=True)\nif not os.path.exists('out'):\n"
        "    os.makedirs('out')\ntorch.save(model.state_dict(), 'out/m.pt')"
    )
    assert "barrier()" not in new_lines(source)


def test_a_question_that_matters_to_one_rank_waits_for_nothing() -> None:
    source = script(
        top="import torch.distributed as dist",
        epoch="name = str(args.lr)\nif not os.path.exists(name) and dist.get_rank() == 0:\n"
        "    os.makedirs(name)\n    os.makedirs('x')\nif dist.get_rank() == 0:\n"
        "    torch.save(model.state_dict(), name)",
    )
    assert "barrier()" not in new_lines(source)


#: Parts, a code that they are reported with, and words of its message.
REPORTED = {
    "a result that decides": ({"epoch": "if os.system('true'):\n    break"}, "PT512", "os.system"),
    "a container that stays open": (
        {"top": "import h5py", "start": "out = h5py.File('a.h5', 'w')", "epoch": "out['a'] = x"},
        "PT512",
        "used elsewhere",
    ),
    "a file that is changed": ({"epoch": "f = open('a.txt', 'r+')"}, "PT522", "every process"),
    "a question": ({"epoch": "input('?')"}, "PT514", "waits for a person"),
    "a window": (
        {"top": "import matplotlib.pyplot as plt", "epoch": "plt.show()"},
        "PT514",
        "waits for a person",
    ),
    "a tracker in an expression": (
        {
            "top": "from torch.utils.tensorboard import SummaryWriter",
            "start": "writer = SummaryWriter('runs')",
            "epoch": "torch.save(1, os.path.join(writer.log_dir, 'a.pt'))\n"
            "path = writer.log_dir\nmodel.path = path",
        },
        "PT552",
        "no guard fits",
    ),
    "a download too early": (
        {
            "top": "from torchvision import datasets\ntest = datasets.MNIST('.', download=True)",
            "epoch": "len(test)",
        },
        "PT562",
        "before the processes know of each other",
    ),
    "random numbers in a file that is made": (
        {
            "top": "import random\n\ndef make(path):\n    with open(path, 'w') as f:\n"
            "        f.write(str(random.random()))\n",
            "resume": "if not os.path.exists('a.txt'):\n    make('a.txt')",
        },
        "PT563",
        "random numbers",
    ),
    "a folder named by the clock": (
        {
            "top": "import time\n\npath = time.strftime('%H') + '.pt'",
            "epoch": "torch.save(model.state_dict(), path)",
            "end": "model.load_state_dict(torch.load(path))",
        },
        "PT572",
        "time.strftime",
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_has_no_place_is_reported(name: str) -> None:
    parts, code, words = REPORTED[name]
    found = findings(script(**parts), code)
    assert [level for level, _, message in found if words in message] == [Level.WARNING]


def test_windows_behind_the_training_are_rank_0s() -> None:
    top = "import matplotlib.pyplot as plt"
    shown = script(top=top, end="plt.plot([1])\nplt.show()\nprint('done')")
    assert [level for level, _, _ in findings(shown, "PT514")] == [Level.NOTE]
    before = script(top=top, end="plt.show()\nmodel(torch.ones(1, 4))")
    assert [level for level, _, _ in findings(before, "PT514")] == [Level.WARNING]


def test_windows_are_told_of_once() -> None:
    top = "import matplotlib.pyplot as plt"
    behind = script(top=top, end="plt.show()\nplt.show()")
    assert [level for level, _, _ in findings(behind, "PT514")] == [Level.NOTE]
    before = script(top=top, epoch="plt.show()\nplt.show()")
    [(level, _, message)] = findings(before, "PT514")
    assert level is Level.WARNING and "1 more" in message


# Other modules of the project.

HELPERS = """\
import sys
import time

import matplotlib.pyplot as plt

last = time.time()


def bar(step, text=None):
    global last
    parts = []
    parts.append("%d %.1f" % (step, time.time() - last))
    if text:
        parts.append(text)
    last = time.time()
    sys.stdout.write(" ".join(parts))
    sys.stdout.flush()


def measure(model, x):
    print("measured")
    return model(x).sum().item()


def never():
    print("nobody calls this")
    plt.show()


def look():
    plt.show()
"""


def with_helpers(folder: Path, **parts: str) -> str:
    """The output for a script beside a module of helpers, and its findings."""
    (folder / "helpers.py").write_text(HELPERS)
    source = script(top="from helpers import bar, measure", **parts)
    file = folder / "train.py"
    file.write_text(source)
    result = convert(source, Options(allow_partial=True), path=str(file))
    said = [f"{Path(f.path).name}:{f.line}: {f.code}" for f in result.findings]
    changed = [f"## {one.place}\n{one.data.decode()}" for one in result.changed_modules]
    return "\n".join([result.text, *changed, *said])


def test_a_call_with_effects_alone_is_guarded(tmp_path: Path) -> None:
    text = with_helpers(tmp_path, batch="bar(epoch, str(x.shape))")
    assert "            if is_main_process():\n                bar(epoch, str(x.shape))\n" in text
    assert "## helpers.py" not in text


def test_a_person_is_waited_for_only_where_the_script_comes(tmp_path: Path) -> None:
    assert "PT514" not in with_helpers(tmp_path, batch="bar(epoch)")
    found = with_helpers(tmp_path, batch="from helpers import look\nlook()")
    assert found.count("PT514") == 1


def test_the_prints_behind_a_call_that_does_more_are_guarded_there(tmp_path: Path) -> None:
    text = with_helpers(tmp_path, batch="value = measure(model, x)\nmodel.value = value")
    assert "            value = measure(model, x)\n" in text
    helpers = text.partition("## helpers.py\n")[2].partition("## ")[0]
    assert helpers.count("print_once(") == 1
    assert "\nfrom distributed_utils import print_once" in helpers


DATA = """\
import os
from urllib.request import urlretrieve

import torch
from torch.utils.data import Dataset


class Table(Dataset):
    def __init__(self, root):
        os.makedirs(root, exist_ok=True)
        if not os.path.exists(root + "/table.pt"):
            urlretrieve("http://x", root + "/table.pt")
        self.table = torch.load(root + "/table.pt")

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        return self.table[index], index
"""


def test_a_data_set_of_another_module_takes_turns(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(DATA)
    source = script(top="from data import Table").replace(
        "DataLoader(data, batch_size=4)", "DataLoader(Table('here'), batch_size=4, shuffle=True)"
    )
    result = convert(source, Options(allow_partial=True), path="train.py", folder=tmp_path)
    (data,) = (one.data.decode() for one in result.changed_modules if one.place == "data.py")
    assert (
        "        with main_process_first():\n            os.makedirs(root, exist_ok=True)\n" in data
    )
    assert "main_process_first" not in result.text
    assert not [f for f in result.findings if f.code in ("PT562",)]


def test_weights_at_hand_are_not_fetched() -> None:
    made = "table = nn.Embedding.from_pretrained(torch.ones(4, 3), freeze=True)"
    assert "main_process_first" not in converted(script(start=made)).text


@pytest.mark.parametrize("helper", ["print_once", "main_process_first", "is_main_process"])
def test_helpers_are_what_black_writes(helper: str) -> None:
    black = pytest.importorskip("black")
    source = script(
        top="from torchvision import datasets",
        resume="test = datasets.MNIST('.', download=True)",
        end="print(test)",
    )
    found = re.search(
        rf"^(?:@\w+\n)?def {helper}\(.*?\n(?=\n\n)",
        converted(source).text,
        re.DOTALL | re.MULTILINE,
    )
    assert found is not None
    assert black.format_str(found.group(), mode=black.Mode()) == found.group()


def test_names_of_the_script_are_never_taken() -> None:
    source = script(
        top="\ndef print_once(text):\n    return text\n", epoch="print(print_once('x'))"
    )
    assert "print_once_2(print_once('x'))" in new_lines(source)


def test_the_processes_take_turns_around_no_training_loader() -> None:
    """Its sampler asks rank 0 for the seed, which must not wait for the others' turn."""
    text = converted("""\
import os
import torch
from torchvision import datasets

os.makedirs("data", exist_ok=True)
loader = torch.utils.data.DataLoader(datasets.MNIST("data", download=True), 12, shuffle=True)
test = torch.utils.data.DataLoader(datasets.MNIST("data", train=False, download=True), 12)
model = torch.nn.Linear(784, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x.flatten(1)), y).backward()
    optimizer.step()
""").text
    assert text is not None
    assert text.count("with main_process_first():") == 2
    assert "\ndata_sampler = None\n" in text or "\ntrain_sampler = None\n" in text


@pytest.mark.parametrize(
    ("test", "forced"),
    [
        ("not args.lr and os.path.exists('w.pkl')", True),
        ("os.path.exists('w.pkl')", False),
        ("FRESH and os.path.exists('w.pkl')", False),
    ],
)
def test_files_that_an_option_has_made_anew_are_spoken_of(test: str, forced: bool) -> None:
    found = converted(
        script(
            top="import os, pickle\nFRESH = True",
            resume=f"if {test}:\n    words = pickle.load(open('w.pkl', 'rb'))\n"
            "else:\n    words = sorted('abc')\n    pickle.dump(words, open('w.pkl', 'wb'))",
        )
    )
    said = [f.message for f in found.findings if f.code == "PT562"]
    assert any("asks for it, files are recreated" in message for message in said) == forced


READING = """\
import os
import subprocess
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
{line}
loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for (x,) in loader:
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("line", "guarded"),
    [
        ('subprocess.check_output("cp a.txt b.txt", shell=True)', True),
        ('revision = subprocess.check_output(["git", "rev-parse", "HEAD"])', False),
    ],
)
def test_programs_whose_output_nobody_reads_run_once(line: str, guarded: bool) -> None:
    """A program that is asked for what it says is asked by every process."""
    result = convert(READING.format(line=line), Options())
    assert not result.findings
    place = result.text.index(line)
    assert ("is_main_process()" in result.text[place - 80 : place]) is guarded


def test_summaries_that_draw_are_computed_by_every_process() -> None:
    source = script(
        top="import torchinfo\nfrom torchsummary import summary",
        model="summary(model, (3,))\nsize = torchinfo.summary(model, (2, 3)).total_params",
    )
    text = converted(source).text
    assert "\n    report_once(summary)(model, (3,))\n" in text
    assert "size = report_once(torchinfo.summary)(model, (2, 3)).total_params" in text
