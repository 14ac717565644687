"""What to do about effects that stay in every process, by the numbers of their findings."""

from __future__ import annotations

ADVICE = {
    "502": """\
Why:
    A module of the project prints where no guard can be put, so that each line comes as often
    as there are processes.

How to fix:
    Print in the script, or have the module ask for the rank.

Before:
    helpers.report(loss)

After:
    print(loss)

When to ignore:
    Where the lines of all processes are wanted.
""",
    "512": """\
Why:
    Processes that write to one path at the same time leave half a file, or that of the last
    one.

How to fix:
    Write it in a statement of its own, which rank 0 alone can run.

Before:
    kept = [save(x) for x in parts]

After:
    for x in parts:
        save(x)

When to ignore:
    Where the path differs by process.
""",
    "513": """\
Why:
    A module of the project writes where no guard can be put.

How to fix:
    Write in the script, or have the module ask for the rank.

Before:
    helpers.store(model)

After:
    torch.save(model.state_dict(), "model.pt")

When to ignore:
    Where the path differs by process.
""",
    "514": """\
Why:
    One process waits for somebody to type, while the others go on and wait for it in the next
    step.

How to fix:
    Take the answer as an argument of the script.

Before:
    name = input("run: ")

After:
    parser.add_argument("--run")

When to ignore:
    Never in a job that nobody watches.
""",
    "522": """\
Why:
    A file that all processes open for writing is emptied by the last one that opens it.

How to fix:
    Open it in a `with` of its own that only writes.

Before:
    log = open("log.txt", "w")

After:
    with open("log.txt", "a") as log:
        log.write(line)

When to ignore:
    Where the path differs by process.
""",
    "532": """\
Why:
    Bars of several processes overwrite each other on a terminal.

How to fix:
    Make the bar in the script, where it can be told to be silent.

Before:
    for x in helpers.bar(loader):
        step(x)

After:
    for x in tqdm(loader):
        step(x)

When to ignore:
    Where the log goes to one file for each process.
""",
    "552": """\
Why:
    A tracker that every process starts shows one job as several runs.

How to fix:
    Start it in a statement of its own, which rank 0 alone can run.

Before:
    experiment = Experiment(tracker=start())

After:
    tracker = start()

When to ignore:
    Where a run for each process is wanted.
""",
    "562": """\
Why:
    Processes that download or unpack into one folder at the same time read half files.

How to fix:
    Do it in a statement of its own before the training, or before the job is started.

Before:
    model = build(download("weights.pt"))

After:
    path = download("weights.pt")
    model = build(path)

When to ignore:
    Where the files are there already.
""",
    "563": """\
Why:
    Preparation that rank 0 does first draws from its random state, and the other processes go
    on with another one.

How to fix:
    Seed the random numbers behind the preparation.

Before:
    prepare("data")

After:
    prepare("data")
    torch.manual_seed(0)

When to ignore:
    Where nothing is drawn later that all processes have to draw alike.
""",
    "542": """\
Why:
    Messages below a warning are logged by one process alone, so that a handler or a filter that
    keeps something of them holds it there, and nothing elsewhere. What is made of that differs.

How to fix:
    Keep it where the message is made.

Before:
    logger.info("%f", loss.item())   # the script's handler appends it to a list

After:
    losses.append(loss.item())
    logger.info("%f", losses[-1])

When to ignore:
    Where nothing but what is logged depends on it.
""",
    "572": """\
Why:
    The path follows from something that differs by process, and only one of them has written
    there.

How to fix:
    Give the path by an argument, or make it of what all processes know.

Before:
    torch.load(f"{os.getpid()}.pt")

After:
    torch.load(args.path)

When to ignore:
    Where the folder is on a disk of the process's own.
""",
}
