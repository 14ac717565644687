"""The stand-in for GPUs: it lets right outputs pass, and says of wrong ones what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from on_gpus import ran, said

from transpile import Options, convert
from transpile.verify.launcher import Launcher

SCRIPT = Path(__file__).parent / "scripts" / "on_gpu.py"


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(pretend_cuda=2) as running:
        yield running


@pytest.fixture(scope="module")
def noisy() -> Iterator[Launcher]:
    with Launcher(pretend_cuda=2, noise=True) as running:
        yield running


@pytest.fixture
def output() -> str:
    """What the script is converted to, for NCCL alone."""
    return convert(SCRIPT.read_bytes(), Options(backend="nccl"), path="train.py").text


def test_script_and_output_run(launcher: Launcher, tmp_path: Path, output: str) -> None:
    for text, world_size in ((SCRIPT.read_text(), 0), (output, 1), (output, 2)):
        folder = tmp_path / str(world_size)
        folder.mkdir()
        run = ran(launcher, folder, text, world_size)
        assert run.finished, said(run)
        assert "epoch 0 mean" in run.ranks[0].output


IN_LOOP = "            optimizer.zero_grad()\n"
SAME = "found at least two devices"

#: Deliberate breakages of the output by what they do: what is replaced, by what, what is said.
BREAKAGES = {
    "a tensor of the CPU is reduced": (
        '    if dist.get_backend() == "nccl":\n        total = total.cuda()\n',
        "    total = total.cpu()\n",
        "No backend type associated with device type cpu (all_reduce)",
    ),
    "every process uses the first GPU": (
        "rank % torch.cuda.device_count()",
        "0",
        "Duplicate GPU detected",
    ),
    "no process chooses its GPU": (
        "    torch.cuda.set_device(rank % torch.cuda.device_count())\n",
        "",
        "Duplicate GPU detected",
    ),
    "a GPU has a number that the machine has not": (
        "rank % torch.cuda.device_count()",
        "rank + 1",
        "invalid device ordinal (cuda:2, of 2 GPUs)",
    ),
    "the wrap is given the GPU of rank 0": (
        "DistributedDataParallel(model)",
        "DistributedDataParallel(model, device_ids=[0])",
        "device_ids [0], but the model is on cuda:1",
    ),
    "a checkpoint goes to the GPU that it was saved from": (
        ", map_location=own_location",
        "",
        SAME + ", cuda:1 and cuda:0",
    ),
    "a batch goes to the GPU of rank 0": (
        "x, y = x.to(device), y.to(device)\n",
        'x, y = x.to("cuda:0"), y.to(device)\n',
        SAME,
    ),
    "a batch stays on the CPU": (
        "x, y = x.to(device), y.to(device)\n",
        "y = y.to(device)\n",
        SAME,
    ),
    "the model stays on the CPU": (
        "model = Net().to(device)\n    assert next(model.parameters()).device == device\n",
        "model = Net()\n",
        "device type cpu (DistributedDataParallel)",
    ),
    "batch norm is synchronised on the CPU": (
        'dist.init_process_group("nccl")',
        'dist.init_process_group("gloo")\n    global device\n    device = torch.device("cpu")\n',
        "SyncBatchNorm layers only work with GPU modules",
    ),
    "the own device has no number": (
        'return type(device)(f"cuda:{own_gpu()}")',
        'return type(device)("cuda")',
        "AssertionError",
    ),
    "a tensor of the GPU is made an array": (
        ".cpu().numpy()",
        ".numpy()",
        "can't convert cuda:0 device type tensor to numpy",
    ),
    "numbers of a type that NCCL has not": (
        IN_LOOP,
        IN_LOOP + "            dist.all_reduce(torch.zeros(1, dtype=torch.int16, device=device))\n",
        "not supported for NCCL: torch.int16",
    ),
    "a tensor that is not contiguous": (
        IN_LOOP,
        IN_LOOP + "            dist.all_reduce(torch.zeros(2, 3, device=device).t())\n",
        "Tensors must be contiguous and dense (all_reduce)",
    ),
    "bits are reduced": (
        IN_LOOP,
        IN_LOOP
        + "            dist.all_reduce(torch.zeros(1, device=device).int(), dist.ReduceOp.BAND)\n",
        "with NCCL",
    ),
    "workers that are forked use the GPU": (
        "batch_size=split_batch(8),",
        "batch_size=split_batch(8), num_workers=1,\n"
        '        multiprocessing_context="fork", collate_fn=on_gpu,',
        "Cannot re-initialize CUDA in forked subprocess",
    ),
    "a received object is on the sender's GPU": (
        "    values = [value.detach().cpu() if torch.is_tensor(value) else value]\n",
        "    value = torch.full((2,), 1.0, device=torch.device('cuda')) * value\n"
        "    device, values = torch.device('cuda:0'), [value]\n",
        SAME,
    ),
    "a part of the machine's GPUs is hidden from all": (
        "def own_gpu",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "1"\n\n\ndef own_gpu',
        "Duplicate GPU detected: the ranks use the GPUs 1, 1",
    ),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_breakage_is_caught(launcher: Launcher, tmp_path: Path, output: str, name: str) -> None:
    before, after, message = BREAKAGES[name]
    assert before in output
    text = output.replace(before, after)
    if "on_gpu" in after:
        text = text.replace(
            "device = own_device",
            "def on_gpu(rows):\n"
            "    x, y = zip(*rows)\n"
            "    return torch.stack(x).cuda(), torch.stack(y).cuda()\n\n\n"
            "device = own_device",
        )
    if after == "0":
        text = text.replace("rank % count", after)
    if "global device" in after:
        text = text.replace("parameters()).is_cuda:", "parameters()).is_cpu:")
    if "value = torch.full" in after:
        text = text.replace("if from_main_process(mean > best):", RECEIVED)
    run = ran(launcher, tmp_path, text)
    assert not run.finished
    assert message in said(run)


RECEIVED = """received = from_main_process(mean)
        if (received + torch.zeros(2, device="cuda")).sum() < 0:"""


SPLIT = """\
from torch.utils.data import DataLoader, TensorDataset
import torch, torch.nn as nn

data = torch.arange(64.0).reshape(32, 2)
order = torch.randperm(32, device="cuda").cpu()
print("order", order.tolist())
loader = DataLoader(TensorDataset(data[order]), batch_size=8)
model = nn.Linear(2, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for (x,) in loader:
    optimizer.zero_grad()
    model(x.cuda()).mean().backward()
    optimizer.step()
"""


def test_splits_that_gpus_draw_agree(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(SPLIT.encode(), path="train.py").text.replace(
        'print_once("order', 'print("order'
    )
    assert "cuda.set_rng_state" in text
    shared = ran(launcher, tmp_path, text)
    assert shared.finished, said(shared)
    first, second = (rank.output for rank in shared.ranks)
    assert "order" in first
    assert first == second


def test_splits_that_are_not_shared_differ(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(SPLIT.encode(), path="train.py").text.replace(
        'print_once("order', 'print("order'
    )
    apart = ran(launcher, tmp_path, text.replace("torch.cuda.set_rng_state", "print"))
    first, second = (rank.output.partition("order")[2] for rank in apart.ranks)
    assert first != second


LENGTHS = """\
import torch, torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 8, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1][-1]


torch.manual_seed(0)
data = TensorDataset(torch.randn(32, 5, 4), torch.randint(1, 6, (32,)))
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, lengths in DataLoader(data, batch_size=8, shuffle=True):
    optimizer.zero_grad()
    found = model(x.cuda(), lengths)
    (found @ found.t()).std().backward()
    optimizer.step()
"""


def test_split_calls_take_inputs_on_several_devices(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(LENGTHS.encode(), Options(shard="calls"), path="train.py").text
    assert "SplitCalls(" in text
    run = ran(launcher, tmp_path, text)
    assert run.finished, said(run)


WITHIN = """\
import torch
import torch.nn.functional as F

labels = torch.tensor([0, 2, 1], device="cuda")
hot = F.one_hot(labels, 3)
assert hot.is_cuda and (hot.float() @ torch.ones(3, device="cuda")).sum() == 3
assert torch.zeros(3).device.type == "cpu"
images = torch.zeros(1, 2, 3, 3, device="cuda")
assert images.to(memory_format=torch.channels_last).is_cuda
assert torch.nn.Conv2d(2, 2, 1).cuda().to(memory_format=torch.channels_last).weight.is_cuda
try:
    torch.zeros(3) + labels
except RuntimeError as error:
    print(error)
"""


def test_what_operations_make_within_is_where_their_tensors_are(
    launcher: Launcher, tmp_path: Path
) -> None:
    run = ran(launcher, tmp_path, WITHIN, world_size=0)
    assert run.finished, said(run)
    assert SAME in run.ranks[0].output


def test_noise_makes_processes_differ_in_the_last_digits(noisy: Launcher, tmp_path: Path) -> None:
    text = (
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "print((torch.ones(3, 3, device='cuda') @ torch.ones(3, 3, device='cuda')).sum().item())\n"
        "print((torch.ones(3, 3) @ torch.ones(3, 3)).sum().item())\n"
        "torch.ones(1, device='cuda').sum()\n"
    ).replace("device='cuda'", "device='cuda', dtype=torch.float64")
    run = ran(noisy, tmp_path, text)
    assert run.finished, said(run)
    lines = [rank.output.split() for rank in run.ranks]
    assert lines[0][0] != lines[1][0]
    assert abs(float(lines[0][0]) - 27) < 1e-4
    assert lines[0][1] == lines[1][1] == "27.0"


def test_unagreed_decision_hangs_under_noise(noisy: Launcher, tmp_path: Path, output: str) -> None:
    """What a rank computes decides here whether all of them go on."""
    alone = output.replace("if from_main_process(mean > best):", "if int(mean * 1e9) % 2:")
    # The noise differs from run to run: all ranks decide alike in two runs of three.
    folders = [tmp_path / str(attempt) for attempt in range(24)]
    for folder in folders:
        folder.mkdir()
    assert any(not ran(noisy, folder, alone, seconds=15).finished for folder in folders)


def test_more_processes_than_gpus_are_told(launcher: Launcher, tmp_path: Path, output: str) -> None:
    """Only where torchrun started them: others may show each process a GPU of its own."""
    for started_by, text in (("torchrun", "2 GPUs here"), ("srun", "Duplicate GPU detected")):
        folder = tmp_path / started_by
        folder.mkdir()
        name = "TORCHELASTIC_RUN_ID" if started_by == "torchrun" else "SLURM_JOB_ID"
        run = ran(launcher, folder, f"import os\nos.environ[{name!r}] = '1'\n{output}", 3)
        assert not run.finished
        assert text in said(run)


SAMPLED = """\
import random
from torch.utils.data import DataLoader
import torch, torch.nn as nn

rows = list(torch.arange(64.0, device="cuda").reshape(32, 2))
model = nn.Linear(2, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
generator = random.Random()
chosen = generator.sample(rows, 16)
loader = DataLoader(chosen, batch_size=8)
for x in loader:
    assert x.device == model.weight.device
    optimizer.zero_grad()
    model(x).mean().backward()
    optimizer.step()
    print("loss")
"""


def test_samples_that_rank_0_chooses_are_on_the_own_gpu(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(SAMPLED.encode(), path="train.py").text
    assert "chosen = broadcast_object(generator.sample(rows, 16))" in text
    run = ran(launcher, tmp_path, text)
    assert run.finished, said(run)
    assert "loss" in run.ranks[0].output
    on_cpu = convert(SAMPLED.replace('"cuda"', '"cpu"').replace(".cuda()", "").encode())
    assert "chosen = from_main_process(generator.sample(rows, 16))" in on_cpu.text


PADDED = """\
import torch, torch.nn as nn

rows, lengths = torch.randn(3, 5, 4).cuda(), torch.tensor([3, 5, 2])
packed = nn.utils.rnn.pack_padded_sequence(rows, lengths, True, enforce_sorted=False)
states, _ = nn.GRU(4, 4, batch_first=True).cuda()(packed)
found, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
print(found.device, tuple(found.shape))
"""


def test_padded_sequences_are_on_the_gpu(launcher: Launcher, tmp_path: Path) -> None:
    run = ran(launcher, tmp_path, PADDED, 0)
    assert run.finished, said(run)
    assert run.ranks[0].output == "cuda:0 (3, 5, 4)\n"
