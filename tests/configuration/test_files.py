"""Which file holds for a script, and what it says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRAINING = (
    Path(__file__).parents[2] / "fixtures" / "pytorch" / "main_sgd" / "train.py"
).read_bytes()


def write(path: str, text: str | bytes = "import torch\n") -> Path:
    found = Path(path)
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(text.encode() if isinstance(text, str) else text)
    return found


def test_the_nearest_file_with_a_table_of_ours_wins(command: Callable[..., Any]) -> None:
    write("pyproject.toml", "[tool.disttranspile]\ntimeout = 1\n")
    write("a/pyproject.toml", "[tool.disttranspile]\ntimeout = 2\n")
    write("a/b/pyproject.toml", "[tool.black]\nline-length = 99\n")
    write("a/c/pyproject.toml", "[tool.disttranspile]\ntimeout = 3\n")
    write("a/c/disttranspile.toml", "timeout = 4\n")
    for script, minutes in (("x.py", 1), ("a/x.py", 2), ("a/b/x.py", 2), ("a/c/x.py", 4)):
        write(script, TRAINING)
        run = command(script, "--diff")
        assert f"timedelta(minutes={minutes})" in run.output.decode(), script
    assert b"minutes=9" in command("x.py", "--diff", "--timeout", "9").output
    assert b"minutes=3" in command("x.py", "--diff", "--config", "a/c/pyproject.toml").output
    assert b"timedelta" not in command("x.py", "--diff", "--isolated").output


def test_tables_of_scripts_win_in_their_order(command: Callable[..., Any]) -> None:
    write("src/train.py", TRAINING)
    write("src/other.py", TRAINING)
    write(
        "disttranspile.toml",
        'timeout = 1\n[[script]]\nsource = "src/*.py"\ntimeout = 2\ntarget-python = "3.10"\n'
        '[[script]]\nsource = "src/train.py"\ntimeout = 3\n',
    )
    shown = command("config", "src/train.py", "src/other.py").output.decode()
    first, second = shown.split("\n\n")
    assert first.startswith("src/train.py: ")
    rows = {words[0]: words[1:] for words in map(str.split, first.splitlines())}
    assert rows["timeout"] == ["3", "[[script]]", "no.", "2"]
    assert rows["target-python"] == ["3.10", "[[script]]", "no.", "1"]
    assert rows["backend"] == ["auto", "default"]
    assert "timeout                2" in second
    diff = command("src", "--diff").output
    assert (diff.count(b"minutes=3"), diff.count(b"minutes=2")) == (1, 1)


def test_of_several_outputs_of_a_script_the_one_that_is_written_counts(
    command: Callable[..., Any],
) -> None:
    write("train.py", TRAINING)
    write(
        "disttranspile.toml",
        '[[script]]\nsource = "train.py"\noutput = "long.py"\ntimeout = 60\n'
        '[[script]]\nsource = "train.py"\noutput = "short.py"\ntimeout = 1\n',
    )
    for name, minutes in (("long.py", b"minutes=60"), ("short.py", b"minutes=1)")):
        assert command("train.py", "-o", name).status == 0
        assert minutes in Path(name).read_bytes()
    assert b"timedelta" not in command("train.py", "--diff").output
    listed = command("config").output.decode()
    assert "train.py -> long.py\n" in listed
    assert "train.py -> short.py\n" in listed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("batchsize = 1", "disttranspile.toml:  batchsize: there is no such key; did you mean b"),
        ("batch-size = 'x'", "batch-size: it is one of global, per-device"),
        ("jobs = 0", "jobs: expected int >= 1"),
        ("output-format = 'xml'", "output-format: it is one of text, json, sarif"),
        ("no-gitignore = true", "no-gitignore: there is no such key; did you mean respect-gitig"),
        (
            "[[script]]\nsource='a.py'\nquiet=true",
            "no. 1 quiet: it holds for a whole run, and stands above the tables of scripts",
        ),
        ("timeout = 0", "timeout: expected int >= 1"),
        ("target-python = 3.10", "target-python: expected str, got float"),
        ("target-python = '2.7'", "target-python: '2.7' is no version of Python"),
        ("scale-lr = 'linear'", "scale_lr needs batch_size='per-device'"),
        ("launch = ['torchrun']", "expected table, got list, as in launch = { targets ="),
        ("select = 'PT'", "select: expected list, got str"),
        ("select = ['XY1']", "select: there is no code 'XY1'"),
        ("output = 'x.py'", "output: there is no such key"),
        ("in-place = true", "in-place: there is no such key"),
        ("[launch]\nnods = 1", "[launch] nods: there is no such key; did you mean nodes?"),
        ("[[script]]\noutput = 'x'", "[[script]] no. 1: missing required field source"),
        ("[[script]]\nsource='a'\n[[script]]\nsorce='b'", "[[script]] no. 2 sorce: there is no"),
        ("[[script]]\nsource='*.py'\noutput='x.py'", "[[script]] no. 1 output: a source that may"),
        ("[[script]]\nsource='a.py'\noutput='./a.py'", "no. 1 output: it is the source itself"),
        (
            "[[script]]\nsource='a.py'\noutput='x.py'\n[[script]]\nsource='b.py'\noutput='x.py'",
            "[[script]] no. 2 output: no. 1 goes to x.py, too",
        ),
        ("[roles]\n'a.b' = 'c d'", "role 'c d' is no dotted name"),
        ("[roles]\n'a.*' = 'c'", "role 'a.*': it and 'c' both end in '.*', or neither"),
        ("[roles]\n'a' = 1", "roles: expected str | table, got int"),
        (
            "[roles]\n'a' = {sample = 'apart'}",
            "sample: there is no such key; did you mean samples?",
        ),
        ("[roles]\n'a' = {samples = 'apat'}", "samples: invalid enum value 'apat'"),
        ("[roles]\n'a' = {}", "missing required field samples"),
        ("[roles]\n'a b' = {samples = 'apart'}", "role 'a b' is no dotted name"),
        ("exclude = ['!']", "exclude: '!' is no pattern"),
        ("exclude = ['**/[z-a]']", "exclude: '**/[z-a]' is no pattern"),
        ("select = ['']", "select: there is no code ''"),
        ("[[script]]\nsource='.'", "[[script]] no. 1 source: '.' is neither a script nor"),
        ("[[script]]\nsource='[z-a]'", "source: '[z-a]' is neither a script nor a pattern"),
        ("[[script]]\nsource='a.py'\noutput='out'", "output: 'out' is neither a script (.py) nor"),
        (
            "[[script]]\nsource='a.py'\noutput='x.py'\nlaunch={targets=['slrm']}",
            "launch targets: there is no 'slrm'; did you mean slurm?",
        ),
        ("[launch]\ntargets = 'nope'", "launch targets: there is no 'nope'"),
        ("[roles]\n'' = 'c'", "role '' is no dotted name"),
        ("timeout =", "cannot be read"),
    ],
)
def test_what_a_configuration_cannot_hold(
    command: Callable[..., Any], text: str, complaint: str
) -> None:
    write("disttranspile.toml", f"{text}\n")
    write("train.py", TRAINING)
    assert command("audit", "train.py").status == 2 or "python" in text or "linear" in text
    run = command("train.py", "--diff")
    assert run.status == 2
    assert "disttranspile.toml" in run.errors
    assert " ".join(complaint.split()) in " ".join(run.errors.split())
    assert run.output == b""


def test_every_option_of_a_conversion_is_a_key(command: Callable[..., Any]) -> None:
    from transpile.cli.commands.convert import command as conversion
    from transpile.cli.project.settings import OF_ONE_RUN, conversion_options, run_options
    from transpile.configuration.settings import RUN_CHOICES, RUN_OPTIONS

    offered = {
        option.removeprefix("--")
        for parameter in conversion.params
        for option in parameter.opts
        if option.startswith("--")
    }
    keys = {*conversion_options(), *RUN_OPTIONS}
    assert keys == offered - OF_ONE_RUN
    assert {*run_options()} == {*RUN_CHOICES}
    shown = command("config", "train.py").output.decode()
    assert keys <= {line.split()[0] for line in shown.splitlines()}
    lines = []
    for key, option in conversion_options().items():
        if isinstance(option.default, (str, bool)):
            lines.append(f"{key} = {json.dumps(option.default)}")
    write("disttranspile.toml", "\n".join(lines))
    write("train.py", TRAINING)
    plain = command("train.py", "--isolated")
    assert command("train.py").output == plain.output


def test_excluded_scripts_are_left_out_of_folders(command: Callable[..., Any]) -> None:
    write("disttranspile.toml", 'exclude = ["/old/", "*_copy.py"]\n')
    for name in ("train.py", "old/train.py", "new/old/train.py", "new/a_copy.py"):
        write(name, TRAINING)
    diff = command(".", "--diff").output.decode()
    assert [line for line in diff.splitlines() if line.startswith("--- ")] == [
        "--- a/train.py",
        "--- a/new/old/train.py",
    ]
    assert command("old/train.py", "--check").status == 1
    assert command("old/train.py", "--check", "--force-exclude").status == 0
    assert command("train.py", "--check", "--force-exclude", "--exclude", "tr*").status == 0


class TestRoles:
    SCRIPT = TRAINING.replace(
        b"from torch.utils.data import DataLoader", b"from house.data import make_loader"
    ).replace(b"= DataLoader(", b"= make_loader(")

    def test_in_house_code_stands_for_known_code(self, command: Callable[..., Any]) -> None:
        assert b"make_loader(" in self.SCRIPT
        write("train.py", self.SCRIPT)
        unknown = command("train.py", "--diff").output
        assert b"sampler=train_sampler" not in unknown
        role = '"house.data.make_loader" = "torch.utils.data.DataLoader"\n'
        write("disttranspile.toml", f"[roles]\n{role}")
        run = command("train.py", "--diff")
        assert b"sampler=train_sampler" in run.output, run.errors
        assert "make_loader" in command("config", "train.py").output.decode()

    def test_families_of_names(self, command: Callable[..., Any]) -> None:
        text = self.SCRIPT.replace(b"make_loader", b"DataLoader")
        write("train.py", text)
        assert b"sampler=train_sampler" not in command("train.py", "--diff").output
        write("disttranspile.toml", '[roles]\n"house.data.*" = "torch.utils.data.*"\n')
        assert b"sampler=train_sampler" in command("train.py", "--diff").output


MODEL = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from house.models import Tower

dataset = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
loader = DataLoader(dataset, batch_size=8, shuffle=True)
model = Tower(4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize("name", ["house.models.*", "house.models.Tower"])
def test_in_house_models_may_be_said_to_keep_samples_apart(
    command: Callable[..., Any], name: str
) -> None:
    write("train.py", MODEL)
    unknown = command("train.py", "--diff")
    assert b"class SplitCalls(" in unknown.output
    assert b"PT354" in unknown.output + unknown.errors.encode()
    write("disttranspile.toml", f'[roles]\n"{name}" = {{ samples = "apart" }}\n')
    run = command("train.py", "--diff")
    assert b"sampler=train_sampler" in run.output, run.errors
    assert b"SplitCalls" not in run.output
    # Whether it has batch norm is not said by that.
    assert run.status == 1 and "PT" not in run.errors.replace("PT307", ""), run.errors
    assert "samples apart" in command("config", "train.py").output.decode()
    # What a loss couples stays coupled.
    write("train.py", MODEL.replace("mse_loss(model(inputs)", "mse_loss(model(inputs).softmax(0)"))
    assert b"class SplitCalls(" in command("train.py", "--diff").output
    write("disttranspile.toml", '[roles]\n"house.other" = { samples = "apart" }\n')
    write("train.py", MODEL)
    assert b"class SplitCalls(" in command("train.py", "--diff").output


def test_a_run_without_a_configuration_loads_no_library_for_it() -> None:
    import subprocess

    code = (
        "import sys; from transpile.cli import main; main(['/nowhere.py']); "
        "names = ('msgspec', 'pathspec', 'tomllib', 'json'); "
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout == "[]\n", done.stderr


def test_a_role_whose_data_set_is_a_text_is_not_believed(command: Callable[..., Any]) -> None:
    """A function that takes a name is no loader's class, whatever it is said to stand for."""
    Path("disttranspile.toml").write_text(
        '[roles]\n"mylab.loader" = "torch.utils.data.DataLoader"\n'
    )
    Path("train.py").write_text(
        "import torch\nfrom mylab import loader\n\ntorch.manual_seed(0)\n"
        "model = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        'for x, y in loader("clicks", 8):\n    optimizer.zero_grad()\n'
        "    torch.nn.functional.mse_loss(model(x), y).backward()\n    optimizer.step()\n"
    )
    run = command("train.py", "-o", "train_dist.py", "--shard", "data")
    assert run.status == 3 and "is a text or a number, and no data set" in run.errors
    assert command("train.py", "-o", "train_dist.py").status == 0
    assert "DistributedSampler" not in Path("train_dist.py").read_text()
