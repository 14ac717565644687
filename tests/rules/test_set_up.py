"""How the emitted set-up behaves in every environment that a process may find itself in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from data_way import convert
from ranks import held_port
from small_scripts import converted, findings, script, undone

from transpile import Options, Outcome

NAMES = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "EXPECTED_WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "SLURM_NTASKS",
    "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS",
)  # fmt: skip


def emitted(**options: object) -> str:
    """The set-up helper alone, followed by what tells that it has let the process go on."""
    text = convert(script(), Options(**options), path="train.py").text  # type: ignore[arg-type]
    before, _, rest = text.partition("parser = argparse")
    assert rest
    return before.replace("from torch.utils.data import DataLoader, TensorDataset\n", "")


def start(file: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if name not in NAMES}
    return subprocess.Popen(
        [sys.executable, str(file), *arguments],
        env={**clean, "CUDA_VISIBLE_DEVICES": "", **environment},
        cwd=file.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


FORKS = """\
import json, os, sys, tempfile, traceback

import torch

answers = []
for environment in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(error.fileno(), 2)
            os.environ.update(environment)
            code = 0
            try:
                exec(open(sys.argv[2]).read(), {"__name__": "__main__"})
            except SystemExit as stopped:
                print(stopped.code, file=sys.stderr)
                code = 1
            except BaseException:
                traceback.print_exc()
                code = 9
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = []
        for stream in (out, error):
            stream.seek(0)
            answer.append(stream.read())
        answers.append([code, *answer])
print(json.dumps(answers))
"""


def run_in(file: Path, environments: list[dict[str, str]]) -> list[tuple[int, str, str]]:
    """Exit status, output and errors in each environment, from one start of PyTorch."""
    driver = file.with_name("forks.py")
    driver.write_text(FORKS)
    code, out, error = finish(start(driver, json.dumps(environments), str(file)))
    assert code == 0, error
    return [(code, out, error) for code, out, error in json.loads(out)]


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, error = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
        raise AssertionError(f"it hangs: {out}{error}") from None
    return process.returncode, out, error


def finish_all(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """What each process left; none is left running."""
    try:
        return [finish(process) for process in processes]
    finally:
        for process in processes:
            process.kill()


def together(file: Path) -> list[tuple[int, str, str]]:
    """What two ranks of a script left."""
    with held_port() as port:
        group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        return finish_all([start(file, RANK=str(rank), **group) for rank in range(2)])


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("set_up") / "train.py"
    tell = 'setup_distributed("gloo")\njoined = dist.is_initialized()\n'
    tell += "world = dist.get_world_size() if joined else 1\n"
    tell += 'print("world", world, "rank", dist.get_rank() if joined else 0)\n'
    file.write_text(
        emitted(check_launch=True) + "check_launch()\n" + tell + "cleanup_distributed()\n"
    )
    return file


WRONG = [
    ({"OMPI_COMM_WORLD_SIZE": "2"}, "several tasks but no RANK: start them with torchrun"),
    ({"PMI_SIZE": "3"}, "several tasks but no RANK: start them with torchrun"),
    ({"SLURM_STEP_NUM_TASKS": "2"}, "several tasks but no RANK: start them with torchrun"),
    ({"EXPECTED_WORLD_SIZE": "4"}, "1 processes started, 4 expected"),
    (
        {
            "RANK": "0",
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "1",
            "EXPECTED_WORLD_SIZE": "4",
        },
        "2 processes started, 4 expected",
    ),
]
ALONE = [
    {},
    {"SLURM_NTASKS": "2"},
    {"OMPI_COMM_WORLD_SIZE": "1"},
    {"SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "1"},
    {"EXPECTED_WORLD_SIZE": "1"},
]


def test_launched_wrongly_it_says_so_in_one_line(helper: Path) -> None:
    answers = run_in(helper, [environment for environment, _ in WRONG])
    assert answers == [(1, "", line + "\n") for _, line in WRONG]


def test_without_a_launcher_it_is_one_process(helper: Path) -> None:
    assert run_in(helper, ALONE) == [(0, "world 1 rank 0\n", "")] * len(ALONE)


def test_a_wrong_launch_ends_with_a_failure(helper: Path) -> None:
    code, out, error = finish(start(helper, PMI_SIZE="2"))
    assert (code, out) == (1, "")
    assert error == "several tasks but no RANK: start them with torchrun\n"


def test_how_many_there_are_is_checked_where_a_launch_file_says_what_is_right() -> None:
    assert "check_launch" not in emitted()
    text = convert(script(), Options(check_launch=True), path="train.py").text
    assert text.index("    check_launch()\n") < text.index("    setup_distributed(")


def test_processes_join_without_local_rank(helper: Path) -> None:
    answers = together(helper)
    assert [code for code, _, _ in answers] == [0, 0], answers
    assert [out for _, out, _ in answers] == ["world 2 rank 0\n", "world 2 rank 1\n"]


def test_the_chosen_backend_and_timeout_are_used() -> None:
    assert 'dist.init_process_group("gloo")\n' in emitted(backend="gloo")
    text = emitted(backend="gloo", timeout_minutes=7)
    assert "from datetime import timedelta\n" in text
    assert 'dist.init_process_group("gloo", timeout=timedelta(minutes=7))\n' in text
    assert "(backend, timeout=timedelta(minutes=9))\n" in emitted(timeout_minutes=9)
    assert emitted(timeout_minutes=9, script_args=True).count("timeout=timedelta(minutes=9)") == 2
    assert "adopt_mpi_environment" not in emitted()


@pytest.mark.parametrize(
    ("move", "given"),
    [
        ("pass", '"gloo"'),
        ("print('on the CPU, not on cuda')", '"gloo"'),
        ("model.to(torch.float64)", '"gloo"'),
        ("model.cuda()", ""),
        ('model.to("cuda")', ""),
        ('model.to("cuda" if torch.cuda.is_available() else "cpu")', ""),
        ("if torch.cuda.is_available(): model.cuda()", ""),
        ("if args.gpu: model.cuda()", ""),
        ("model.to(args.device)", ""),
        ('model.to("cuda" if args.gpu else "cpu")', ""),
        ('device = "cuda" if torch.cuda.is_available() and args.gpu else "cpu"', ""),
        ("x = torch.zeros(1).cuda()", ""),
        ('model.to(torch.device("cpu")); x = torch.zeros(1).cuda()', ""),
        ("import unread; unread.place(model)", ""),
        ("import accelerator_of_mine as a", ""),
    ],
)
def test_the_backend_follows_from_where_the_models_are(move: str, given: str) -> None:
    source = script(model=move).replace('default="cuda:0", help="for example cuda:1"', "")
    text = convert(source, path="train.py").text
    assert f"setup_distributed({given})\n" in text


def test_a_version_may_be_too_old_for_two_backends() -> None:
    for version, found in (((1, 13), False), ((2, 0), True), (None, True)):
        text = emitted(target_version=version)
        assert ('(backend: str = "cpu:gloo,cuda:nccl")' in text) == found
        assert ('(backend: str = "nccl")' in text) != found


FETCHED = """
from torchvision import datasets
"""


def on_gpu(**options: object) -> str:
    """The output of a script whose model is on a GPU, and whose data is fetched first."""
    source = script(
        top=FETCHED, start='datasets.MNIST("data", download=True)', model="model.cuda()"
    ).replace('default="cuda:0", help="for example cuda:1"', "")
    return convert(source, Options(**options), path="train.py").text  # type: ignore[arg-type]


def test_nccl_alone_waits_longer_for_what_rank_0_does_alone() -> None:
    assert "main_process_first" in on_gpu()
    limit = "dist.init_process_group(backend, timeout=timedelta(minutes=60))\n"
    assert limit in on_gpu(target_version=(1, 13))
    assert "timeout=timedelta(minutes=5))\n" in on_gpu(timeout_minutes=5)
    for options in ({}, {"backend": "gloo"}):
        assert "timedelta" not in on_gpu(**options)
    assert "timedelta" not in emitted(target_version=(1, 13))


def test_nccl_alone_exchanges_what_is_on_gpus() -> None:
    told = "dist.barrier(device_ids=[torch.cuda.current_device()] if own else None)"
    assert told in on_gpu(backend="nccl")
    assert told in on_gpu(target_version=(1, 13))
    assert told not in on_gpu()


def test_the_group_is_told_the_gpu_where_that_can_be() -> None:
    text = on_gpu(target_version=(2, 3))
    assert "device_id=device)\n" in text
    assert "device_id" not in on_gpu(target_version=(2, 2)) + on_gpu()


@pytest.mark.parametrize(
    ("backend", "environment", "line"),
    [
        (
            "nccl",
            {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
            "the backend nccl needs a GPU in every process",
        ),
        (
            "mpi",
            {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"},
            "the backend mpi needs a PyTorch that is built with MPI",
        ),
        (
            "mpi",
            {"SLURM_STEP_NUM_TASKS": "2"},
            "several tasks but no RANK: start them with mpirun",
        ),
    ],
)
def test_a_backend_that_is_not_there_is_named(
    tmp_path: Path, backend: str, environment: dict[str, str], line: str
) -> None:
    import torch.distributed as dist

    if backend == "mpi" and dist.is_mpi_available() and "built" in line:
        pytest.skip("this PyTorch has MPI")
    file = tmp_path / "train.py"
    file.write_text(emitted(backend=backend) + "setup_distributed()\n")
    assert finish(start(file, **environment)) == (1, "", line + "\n")


@pytest.fixture(scope="module")
def with_arguments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("arguments") / "train.py"
    result = convert(script(end='print("trained", args.lr)'), Options(script_args=True))
    assert result.outcome is Outcome.CONVERTED
    tell = "    cleanup_distributed()\n"
    assert result.text.count(tell) == 1
    seen = "    joined = dist.is_initialized()\n"
    seen += "    rank, world = (dist.get_rank(), dist.get_world_size()) if joined else (0, 1)\n"
    seen += '    print("world", world, "rank", rank, rank == 0)\n'
    file.write_text(result.text.replace(tell, seen + tell))
    return file


def test_arguments_take_the_place_of_a_launcher(with_arguments: Path) -> None:
    with held_port() as port:
        group = ["--backend", "gloo", "--init-method", f"tcp://127.0.0.1:{port}"]
        group += ["--world-size", "2", "--lr", "0.5"]
        answers = finish_all(
            [start(with_arguments, *group, "--rank", str(rank)) for rank in range(2)]
        )
    assert [code for code, _, _ in answers] == [0, 0], answers
    assert answers[0][1] == "trained 0.5\nworld 2 rank 0 True\n"
    assert answers[1][1] == "world 2 rank 1 False\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--world-size", "2"], "several tasks but no RANK: use torchrun or --rank"),
        (["--rank", "0"], "no WORLD_SIZE: use torchrun, or --world-size and --init-method"),
        (
            ["--rank", "0", "--world-size", "2"],
            "no MASTER_ADDR: use torchrun, or --world-size and --init-method",
        ),
        (
            ["--rank", "0", "--world-size", "1", "--init-method", "tcp://127.0.0.1:1"],
            "the backend nccl needs a GPU: use --backend gloo without one",
        ),
    ],
)
def test_wrong_arguments_are_named_in_one_line(
    with_arguments: Path, arguments: list[str], line: str
) -> None:
    code, out, error = finish(start(with_arguments, *arguments))
    assert (code, out) == (1, "")
    assert error.startswith(line)
    assert error.count("\n") == 1


def test_with_arguments_one_process_needs_neither_launcher_nor_gpu(with_arguments: Path) -> None:
    code, out, error = finish(start(with_arguments))
    assert (code, out) == (0, "trained 0.1\nworld 1 rank 0 True\n"), error


PARSING = """\
import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main(opt):
    loader = DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), batch_size=4)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    print(opt)


if __name__ == "__main__":
    {parse}
    main({given})
"""
PARSER = "parser = argparse.ArgumentParser()\n    "


DIRECT = "setup_distributed(args.backend, args.init_method, args.rank, args.world_size)"
BY_ITEM = """setup_distributed(
        args["backend"], args["init_method"], args["rank"], args["world_size"]
    )"""


@pytest.mark.parametrize(
    ("parse", "call"),
    [
        ("args = parser.parse_args()", DIRECT),
        ("args, others = parser.parse_known_args()", DIRECT),
        ("args = vars(parser.parse_args())", BY_ITEM),
        ("args: argparse.Namespace = parser.parse_args()", DIRECT),
    ],
)
def test_the_arguments_are_found_where_the_group_is_joined(parse: str, call: str) -> None:
    result = converted(PARSING.format(parse=PARSER + parse, given="args"), script_args=True)
    assert f"\n    {call}\n" in result.text
    assert '\n    parser.add_argument("--rank", type=int)\n' in result.text


def test_the_arguments_are_found_where_they_are_handed_on() -> None:
    parse = "parser = argparse.ArgumentParser()\n    args = parser.parse_args()"
    source = PARSING.format(parse=parse, given="args").replace("    main(args)", "    run(args)")
    source = source.replace(
        "    print(opt)\n", "    print(opt)\n\n\ndef run(config):\n    main(config)\n"
    )
    text = converted(source, script_args=True).text
    assert text.count("setup_distributed(") == 2
    assert f"\n    {DIRECT}\n" in text


@pytest.mark.parametrize(
    ("parse", "given", "why"),
    [
        ("arguments = 3", "arguments", "it has no argparse parser that can be found"),
        (
            "arguments = argparse.ArgumentParser().parse_args()",
            "arguments",
            "the parser is in no variable to which options could be added",
        ),
        (
            PARSER + 'parser.add_argument("--rank", type=int)\n    args = parser.parse_args()',
            "args",
            "it has an option --rank of its own",
        ),
        (
            PARSER + 'parser.add_argument("-w", dest="world_size")\n    args = parser.parse_args()',
            "args",
            "it has an option --world-size of its own",
        ),
        (
            PARSER + "main(parser.parse_args())",
            "0",
            "no variable holds what this call gives where the process group is joined",
        ),
    ],
)
def test_a_parser_that_cannot_take_the_options_is_refused(parse: str, given: str, why: str) -> None:
    source = PARSING.format(parse=parse, given=given)
    assert convert(source, Options(script_args=True)).outcome is Outcome.REFUSED
    ((_, _, message),) = findings(source, "PT103", script_args=True)
    assert message.endswith(why)
    assert not findings(source, "PT103")


@pytest.mark.parametrize("option", ["--local_rank", "--local-rank"])
def test_an_argument_of_older_launchers_is_no_hindrance(option: str) -> None:
    parse = PARSER + f'parser.add_argument("{option}", type=int, default=-1)\n    '
    source = PARSING.format(parse=parse + "args = parser.parse_args()", given="args")
    for chosen in (Options(), Options(script_args=True)):
        assert convert(source, chosen).outcome is Outcome.CONVERTED


SPAWNED = """\
import os
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((3,), float(index)), torch.ones(1)


model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
{guard}
"""
LOOP = """\
loader = DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
print("trained", os.path.exists("."))
"""


def test_workers_that_import_the_script_again_do_not_join(tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in LOOP.splitlines())
    source = SPAWNED.format(guard='if __name__ == "__main__":\n' + body)
    result = converted(source)
    assert result.outcome is Outcome.CONVERTED
    assert "setup_distributed(" in result.text
    file = tmp_path / "train.py"
    file.write_text(result.text)
    answers = together(file)
    assert [code for code, _, _ in answers] == [0, 0], answers
    assert [out for _, out, _ in answers] == ["trained True\n", ""]


def test_the_output_needs_no_set_up() -> None:
    assert not undone(script(), "join-process-group", script_args=True, timeout_minutes=3)


def test_statement_between_imports_does_not_come_behind_the_set_up() -> None:
    result = convert(b"""\
import torch
torch.manual_seed(0)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randn(8, 1)), batch_size=4)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    optimizer.step()
""")
    assert result.text.index("def setup_distributed(") < result.text.index("    setup_distributed(")
