"""What to do about findings on devices."""

from __future__ import annotations

ADVICE = {
    "PT802": """\
Why:
    A model that is spread over numbered GPUs would need as many for every process.

How to fix:
    Put the whole model onto one GPU.

Before:
    model.body.to("cuda:0")
    model.head.to("cuda:1")

After:
    model.to("cuda")

When to ignore:
    Never: processes would share GPUs.
""",
    "PT804": """\
Why:
    A checkpoint goes back to the GPU that it was saved from, on every process.

How to fix:
    Give torch.load a map_location.

Before:
    torch.load(path)

After:
    torch.load(path, map_location="cpu")

When to ignore:
    Where the file was saved from the CPU.
""",
    "PT805": """\
Why:
    The number of GPUs was that of one process that uses all; now each uses one.

How to fix:
    Use 1 instead, or the number of processes where all together are meant.

Before:
    workers = 4 * torch.cuda.device_count()

After:
    workers = 4

When to ignore:
    Where the number is only shown.
""",
    "PT806": """\
Why:
    A forked process cannot use CUDA that was initialised before.

How to fix:
    Use the start method 'spawn' or 'forkserver' where workers use the GPU.

Before:
    mp.get_context("fork")

After:
    mp.get_context("spawn")

When to ignore:
    Where the workers stay on the CPU.
""",
    "PT807": """\
Why:
    Before each process has its GPU, everything goes to the first one.

How to fix:
    Move it to the GPU within the function that trains.

Before:
    table = torch.zeros(1000, device="cuda")

After:
    def main():
        table = torch.zeros(1000, device="cuda")

When to ignore:
    Never: the first GPU would fill up.
""",
    "PT809": """\
Why:
    Process groups are set up for the CPU and CUDA; other devices need a backend of theirs.

How to fix:
    Choose the backend and each process's device in setup_distributed by hand.

Before:
    device = "mps" if torch.backends.mps.is_available() else "cpu"

After:
    device = "cuda" if torch.cuda.is_available() else "cpu"

When to ignore:
    Where the job never runs on such a device.
""",
    "PT812": """\
Why:
    A class derived from DataParallel brings a behaviour of its own, which
    DistributedDataParallel does not have.

How to fix:
    Use the model itself, and move what the class adds to the model.

Before:
    class Parallel(nn.DataParallel):
        pass

After:
    model = Net()

When to ignore:
    Never: nothing is written.
""",
    "PT813": """\
Why:
    Copies of one model on several GPUs are what DistributedDataParallel keeps itself.

How to fix:
    Train one model on one GPU, and let the launcher start a process for each.

Before:
    replicas = nn.parallel.replicate(model, devices)

After:
    output = model(x)

When to ignore:
    Never: each process would have copies on all GPUs.
""",
    "PT814": """\
Why:
    DataParallel moved its inputs to the GPU; without it they stay on the CPU.

How to fix:
    Move them by hand.

Before:
    output = model(x)

After:
    output = model(x.to(device))

When to ignore:
    Where the model is on the CPU.
""",
    "PT816": """\
Why:
    A thread begins with the first GPU, whatever GPU its process uses: what it moves comes there.

How to fix:
    Start the thread with a function that has lines of its own.

Before:
    Thread(target=lambda: batches.put(next(rows).cuda())).start()

After:
    def fetch():
        batches.put(next(rows).cuda())

    Thread(target=fetch).start()

When to ignore:
    Where what is moved is not used with the model.
""",
}
