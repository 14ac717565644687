"""Modules of the project are converted with the script that imports them."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result, Verdict

TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from helpers import help

loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        help(model, x)
"""
LOADERS = """\
import torch
from torch.utils.data import DataLoader, TensorDataset


def make(size):
    return DataLoader(TensorDataset(torch.zeros(24, 3), torch.zeros(24, 1)), batch_size=size)
"""
LOOP = """\
import torch
from torch import nn

from loaders import make

loader = make(6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""


def of(folder: Path, script: str, **modules: str) -> Result:
    """What becomes of a script and the modules beside it."""
    for name, text in modules.items():
        file = folder.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (folder / "train.py").write_text(script)
    return convert(script, path="train.py", folder=folder)


def text_of(result: Result, place: str) -> str:
    """The text of a module after the conversion."""
    return next(one.data.decode() for one in result.modules if one.place == place)


def test_a_checkpoint_written_elsewhere_is_guarded_around_the_call(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        TRAIN,
        helpers="import torch\n\n\n"
        "def help(model, x):\n    torch.save(model.state_dict(), 'm.pt')\n",
    )
    assert "        if is_main_process():\n            help(model, x)\n" in result.text
    assert "unwrap(model).state_dict()" in text_of(result, "helpers.py")


def test_a_file_written_elsewhere_amid_other_things_is_guarded_there(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        TRAIN,
        helpers="def help(model, x):\n"
        "    with open('log.txt', 'a') as log:\n"
        "        log.write(str(model(x)))\n",
    )
    assert result.outcome is Outcome.CONVERTED
    assert "        help(model, x)\n" in result.text and "if is_main_process" not in result.text
    helpers = text_of(result, "helpers.py")
    assert "open('log.txt' if is_main_process() else os.devnull, 'a')" in helpers


def test_a_file_that_goes_nowhere_is_not_forced_onto_the_disk(tmp_path: Path) -> None:
    helpers = """\
import os


class Log:
    def __init__(self):
        self.file = open("log.txt", "w")

    def __call__(self, model, x):
        self.file.write("x")
        self.file.flush()
        os.fsync(self.file.fileno())
        return x


help = Log()
"""
    text = text_of(of(tmp_path, TRAIN, helpers=helpers), "helpers.py")
    assert "os.devnull" in text
    assert text.index("if is_main_process():") < text.index("os.fsync")


def test_what_the_script_does_not_come_to_stays(tmp_path: Path) -> None:
    idle = "def other():\n    print('x')\n\n\nif __name__ == '__main__':\n    print('demo')\n"
    model = (
        "from torch import nn\n\n\nclass Net(nn.Linear):\n    @classmethod\n"
        "    def loaded(cls):\n        print('loading')\n        return cls(3, 1)\n"
    )
    helpers = f"{model}\n\nclass Tool:\n    def work(self):\n        print(1)\n\n\n{idle}"
    script = TRAIN.replace("import help", "import Net, help").replace("nn.Linear(", "Net(")
    result = of(tmp_path, script, helpers=f"{helpers}\n\ndef help(model, x):\n    return x\n")
    assert result.outcome is Outcome.CONVERTED
    assert [one.place for one in result.changed_modules] == ["distributed_utils.py"]


def test_processes_agree_on_random_numbers_before_a_data_set_draws_some(tmp_path: Path) -> None:
    text = of(tmp_path, TRAIN, helpers="def help(model, x):\n    return x\n").text
    assert text.index("\nshare_random_state()") < text.index("torch.randn(24, 3)")
    assert text.index('    setup_distributed("gloo")\n') < text.index("\nshare_random_state()")


def test_a_property_of_another_module_is_called_where_it_is_read(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        TRAIN.replace("help(model, x)", "help(model, x).path"),
        helpers="import os\n\n\nclass Cache:\n    @property\n    def path(self):\n"
        "        os.makedirs('cache', exist_ok=True)\n        return 'cache'\n\n\n"
        "cache = Cache()\n\n\ndef help(model, x):\n    return cache\n",
    )
    guarded = "        if is_main_process():\n            os.makedirs('cache', exist_ok=True)\n"
    assert guarded in text_of(result, "helpers.py")


def test_a_loader_is_sharded_where_it_is_made(tmp_path: Path) -> None:
    result = of(tmp_path, LOOP, loaders=LOADERS)
    loaders = text_of(result, "loaders.py")
    assert "batch_size=split_batch(size), sampler=train_sampler)" in loaders
    assert "from distributed_utils import get_world_size, split_batch\n" in loaders
    assert "loader.sampler.set_epoch(epoch)" in result.text
    helpers = text_of(result, "distributed_utils.py")
    assert "def split_batch(" in helpers and "def setup_distributed(" in helpers
    assert "def " not in result.text


def test_a_module_that_trains_as_a_script_of_its_own_lends_its_loaders(tmp_path: Path) -> None:
    own = """

def train(loader, model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def main():
    model = torch.nn.Linear(3, 1)
    train(make(8), model, torch.optim.Adam(model.parameters()))


if __name__ == "__main__":
    main()
"""
    result = of(tmp_path, LOOP, loaders=LOADERS + own)
    assert result.outcome is Outcome.CONVERTED
    loaders = text_of(result, "loaders.py")
    assert "batch_size=split_batch(size), sampler=train_sampler)" in loaders
    assert loaders.endswith(own)


def test_a_function_that_trains_and_that_nothing_names_is_said(tmp_path: Path) -> None:
    idle = """

def finetune(model):
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in make(8):
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""
    result = of(tmp_path, LOOP, loaders=LOADERS + idle)
    assert result.outcome is Outcome.CONVERTED
    said = [f for f in result.findings if f.code == "DT005"]
    assert [(f.level, f.path) for f in said] == [(Level.WARNING, "loaders.py")]
    chosen = LOOP.replace("import make", "import make, finetune").replace(
        "loader = make(6)", "by_name = {'fine': finetune}\nloader = make(6)"
    )
    assert of(tmp_path, chosen, loaders=LOADERS + idle).outcome is Outcome.REFUSED


def test_a_loader_made_while_its_module_is_imported_is_refused(tmp_path: Path) -> None:
    script = LOOP.replace("from loaders import make", "from loaders import loader").replace(
        "loader = make(6)\n", ""
    )
    result = of(tmp_path, script, loaders=LOADERS + "\n\nloader = make(6)\n")
    assert result.outcome is Outcome.REFUSED
    assert not result.changed_modules
    codes = {f.code for f in result.findings if f.level is Level.ERROR}
    assert "DT009" in codes


def test_helpers_do_not_take_a_name_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "distributed_utils").mkdir()
    result = of(tmp_path, LOOP, loaders=f"import os as split_batch\n{LOADERS}")
    loaders = text_of(result, "loaders.py")
    assert "distributed_utils_2 import get_world_size, split_batch as split_batch_2\n" in loaders
    assert "batch_size=split_batch_2(size)" in loaders


def test_a_second_script_adds_to_the_helpers_of_the_first(tmp_path: Path) -> None:
    first = of(tmp_path, LOOP, loaders=LOADERS)
    for module in first.changed_modules:
        (tmp_path / module.place).write_bytes(module.data)
    second = LOOP.replace("loader = make(6)\n", "loader = make(6)\nprint(len(loader))\n")
    result = convert(second, path="second.py", folder=tmp_path)
    assert result.outcome is Outcome.CONVERTED
    (grown,) = result.changed_modules
    assert grown.place == "distributed_utils.py"
    before, after = (grown.before or b"").decode(), grown.data.decode()
    assert "def print_once(" not in before
    assert "def print_once(" in after
    assert {line for line in before.splitlines() if line.startswith("def ")} < {*after.splitlines()}
    assert "def " not in result.text


def test_modules_of_a_package_import_helpers_relatively(tmp_path: Path) -> None:
    result = of(tmp_path, LOOP.replace("from loaders", "from kit.loaders"), kit__loaders=LOADERS)
    assert "from .distributed_utils import" in text_of(result, "kit/loaders.py")
    assert "from kit.distributed_utils import " in result.text
    assert any(one.place == "kit/distributed_utils.py" for one in result.modules)


def test_imports_of_helpers_fill_the_lines_of_their_file(tmp_path: Path) -> None:
    wide = ("#" * 99 + "\n") * 2
    text = f"{LOOP}{wide}print(loss.item())\ntorch.save(model.state_dict(), 'm.pt')\n"
    result = of(tmp_path, text, loaders=LOADERS)
    first, second = (line for line in result.text.splitlines() if "distributed_utils" in line)
    following = second.removeprefix("from distributed_utils import ").partition(",")[0]
    assert len(first) <= 100 < len(f"{first}, {following}")
    assert f"{first}\n{second}\n" in result.text


def test_a_script_within_a_package_imports_helpers_relatively(tmp_path: Path) -> None:
    result = of(tmp_path, LOOP.replace("from loaders", "from .loaders"), loaders=LOADERS)
    assert "from .distributed_utils import" in text_of(result, "loaders.py")
    assert "from .distributed_utils import " in result.text


def test_names_that_a_star_import_takes_over_are_avoided(tmp_path: Path) -> None:
    script = LOOP.replace("from loaders import make", "from loaders import *").replace(
        "loader = make(6)", "get_world_size = 3\nloader = make(6)"
    )
    result = of(tmp_path, script, loaders=LOADERS)
    assert "get_world_size as get_world_size_2" in text_of(result, "loaders.py")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("from loaders import make\n", Level.NOTE),
        ("import middle\n", Level.NOTE),
        (
            "import torch.distributed as dist\nimport loaders\n"
            "dist.init_process_group('gloo')\n",
            Level.WARNING,
        ),
    ],
)
def test_another_script_that_imports_a_changed_module_is_named(
    tmp_path: Path, text: str, level: Level
) -> None:
    result = of(
        tmp_path,
        LOOP,
        loaders=LOADERS,
        predict=text,
        middle="from loaders import make\n",
        unrelated="import os\n",
    )
    named = [(f.path, f.level) for f in result.findings if f.code == "DT006"]
    expected = [("predict.py", level)]
    assert [one for one in named if one[0] != "middle.py"] == expected


def test_what_all_processes_meet_in_is_called_by_all(tmp_path: Path) -> None:
    result = of(
        tmp_path,
        TRAIN.replace("help(model, x)", "help(loss)"),
        helpers="def help(loss):\n"
        "    with open('log.txt', 'a') as log:\n        log.write(str(loss.item()))\n"
        "    print(loss.item())\n",
    )
    assert "\n        help(loss)\n" in result.text
    helpers = text_of(result, "helpers.py")
    assert "loss_mean = reduce_mean(loss)\n    print_once(loss_mean.item())" in helpers
    assert "log.write(str(reduce_mean(loss).item()))" in helpers


def test_processes_take_turns_where_a_module_downloads(tmp_path: Path) -> None:
    loaders = LOADERS.replace(
        "def make(size):\n",
        "def make(size):\n    import urllib.request\n"
        "    urllib.request.urlretrieve('http://x', 'x')\n",
    ).replace("batch_size=size)", "batch_size=size, shuffle=True)")
    result = of(tmp_path, LOOP, loaders=loaders)
    assert "main_process_first" not in result.text
    turn = "    with main_process_first():\n        urllib.request.urlretrieve("
    assert turn in text_of(result, "loaders.py")


def test_a_converted_project_is_done(tmp_path: Path) -> None:
    result = of(tmp_path, LOOP, loaders=LOADERS)
    for module in result.modules:
        (tmp_path / module.place).write_bytes(module.data)
    again = convert(result.text, path="train.py", folder=tmp_path)
    assert again.outcome is Outcome.UNCHANGED and not again.changed_modules
    options = Options(respect_distributed=False)
    done = convert(result.text, options, path="train.py", folder=tmp_path)
    assert done.outcome is Outcome.UNCHANGED and not done.changed_modules
    assert {one.verdict for one in done.decisions} == {Verdict.ALREADY_DONE}


def test_paths_that_start_from_a_file_are_said(tmp_path: Path) -> None:
    loaders = f"import os\n\nHERE = os.path.dirname(__file__)\n{LOADERS}"
    result = of(tmp_path, LOOP, loaders=loaders)
    assert [(one.path, one.line) for one in result.bound_to_place] == [("loaders.py", 3)]
