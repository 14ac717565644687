"""The manual of the engine's own findings: why they matter, and what to do about them."""

ADVICE = {
    "DT001": """\
What:
    Each call is followed with what it is given. Here calls branch too often or nest too deeply,
    and following them all would take minutes.

Why:
    What was not followed cannot be converted with certainty.

How to fix:
    Convert the part that trains as a script of its own, or break up recursion and dispatch tables
    that lead back to themselves. The message names the function that most work went to.

Before:
    if __name__ == "__main__":
        dispatch(sys.argv[1])  # serve, export, tune, train

After:
    if __name__ == "__main__":
        train()

When to ignore:
    Never where the script shall be converted. In a folder, `exclude` it.
""",
    "DT002": """\
What:
    No module of the project imports a framework that has rules.

Why:
    Where the training is done by code that is installed apart, nobody looks into it.

How to fix:
    Say under [tool.disttranspile.roles] what that code stands for, or give --framework.

Before:
    from mylib.data import make_loader

After:
    [tool.disttranspile.roles]
    "mylib.data.make_loader" = "torch.utils.data.DataLoader"

When to ignore:
    Always where the script does not train.
""",
    "DT003": """\
What:
    It joins a process group and wraps its model, or leaves both to a library.

Why:
    Distributed twice, gradients would be averaged twice and each process would see a share of a
    share.

How to fix:
    Nothing has to be done. `disttranspile audit` looks for what may hang or diverge in it. To
    convert it anew, take out what distributes it first.

Before:
    disttranspile train.py -o train_dist.py

After:
    disttranspile audit train.py

When to ignore:
    Always where the script is meant to be distributed by itself.
""",
    "DT004": """\
What:
    No backward pass, and no call that makes one, is reached when the script runs as a program.

Why:
    A conversion begins where the training is; there is none here.

How to fix:
    Name the script that starts the training rather than the module that it imports.

Before:
    disttranspile engine.py -o engine_dist.py

After:
    disttranspile train.py -o out/

When to ignore:
    Always for modules, tools and scripts that only evaluate.
""",
    "DT021": """\
What:
    No backward pass is reached as far as calls can be followed, but a method that holds one is
    called of something unknown.

Why:
    Left as it is, the script would train a copy of the model in every process.

How to fix:
    Call it of what the script makes itself: of a variable, or of the elements of a list.

Before:
    for layer in nn.ModuleList(layers):
        layer.train_batch(x)

After:
    for layer in layers:
        layer.train_batch(x)

When to ignore:
    Never for scripts that train.
""",
    "DT005": """\
What:
    A backward pass, an optimizer step or a loader of training data stands where no rule can say
    what several processes make of it.

Why:
    Half a conversion would train something else in silence, so there is none.

How to fix:
    Make it part of the loop that trains, or convert the script by hand.

Before:
    train(model, loader)
    for batch in extra_loader:
        criterion(model(batch[0]), batch[1]).backward()

After:
    train(model, loader)
    train(model, extra_loader)

When to ignore:
    Never: with --allow-partial the rest is converted, and this place trains otherwise.
""",
    "DT006": """\
What:
    A module that the conversion changes is imported by another script, too.

Why:
    For that script it works as before as long as it runs as one process. Started as several, it
    would need a conversion of its own.

How to fix:
    Convert both scripts with the same options into one folder, or write the output elsewhere than
    in place.

Before:
    disttranspile train.py --in-place

After:
    disttranspile train.py finetune.py -o out/

When to ignore:
    Where the other script always runs as one process.
""",
    "DT007": """\
What:
    A module of the project has a syntax error, or its encoding cannot be told.

Why:
    Nothing is known of what it does, and of what the script does through it.

How to fix:
    Mend it, and see what `python3 -m py_compile FILE` says.

Before:
    def evaluate(model, loader)
        model.eval()

After:
    def evaluate(model, loader):
        model.eval()

When to ignore:
    Where neither model, data nor training goes through it.
""",
    "DT008": """\
What:
    A path starts from `__file__`, or a module is imported by a name that is made when the script
    runs.

Why:
    In a copy of the project in another folder, the same expression leads elsewhere.

How to fix:
    Pass the folder in by an option of the script, copy the files that are meant, or write the
    output beside the script.

Before:
    data = os.path.join(os.path.dirname(__file__), "data")

After:
    parser.add_argument("--data", default="data")

When to ignore:
    Where the copy stands with the same files around it, or with -o beside the script.
""",
    "DT009": """\
What:
    A module does something when it is imported that has to be changed, and the process group is
    joined later.

Why:
    What is put there would ask for the group before it is there.

How to fix:
    Move the statement into a function that the script calls.

Before:
    loader = DataLoader(make_dataset(), batch_size=32)

After:
    def make_loader():
        return DataLoader(make_dataset(), batch_size=32)

When to ignore:
    Never: the output would fail at its start.
""",
    "DT010": """\
What:
    One process alone does this, and inside of it all processes would have to meet.

Why:
    The one would wait for the others for ever.

How to fix:
    Compute the number first, by all, and show or write it then.

Before:
    torch.save({"accuracy": evaluate(model, loader)}, path)

After:
    accuracy = evaluate(model, loader)
    torch.save({"accuracy": accuracy}, path)

When to ignore:
    Never: the output would hang.
""",
    "DT011": """\
What:
    Code is defined, and nothing that the script runs calls it.

Why:
    It is neither converted nor checked. It matters where something outside of the project calls
    it, or a name is built at run time.

How to fix:
    Call it by its name, or take it out.

Before:
    getattr(trainer, "train_" + mode)()

After:
    if mode == "full":
        trainer.train_full()
    else:
        trainer.train_head()

When to ignore:
    Where the code is left over, or of another program.
""",
    "DT012": """\
What:
    Each process takes its share of every batch, which this number of processes does not allow.

Why:
    A share that is rounded would be another batch and another gradient; so the output stops at
    its start.

How to fix:
    Choose a number of processes or a batch size that the message names, or --batch-size
    per-device.

Before:
    torchrun --nproc_per_node 3 train_dist.py --batch-size 32

After:
    torchrun --nproc_per_node 4 train_dist.py --batch-size 32

When to ignore:
    Where the job is never started with that number of processes.
""",
    "DT013": """\
What:
    Something is done between the imports that one process alone shall do.

Why:
    There no process knows yet whether it is the first, so that all of them do it.

How to fix:
    Put it behind the imports.

Before:
    print("loading")
    import torch

After:
    import torch

    print("loading")

When to ignore:
    Where it harms nobody to be done by each process.
""",
    "DT014": """\
What:
    What the output uses came with a later version of the framework than --target-version names.

Why:
    It would end with an error about a name that is not there.

How to fix:
    Give a later version, or leave the option out that asks for it.

Before:
    disttranspile train.py --strategy fsdp --target-version 1.13

After:
    disttranspile train.py --strategy fsdp --target-version 2.4

When to ignore:
    Never: give the version that the job really has.
""",
    "DT015": """\
What:
    It cannot be shown that shares of batches train the same model, for the reason in the message;
    so every process draws whole batches and computes its rows of each call of a model.

Why:
    That is exact, but each process loads all the data, and only models are computed side by side.

How to fix:
    Take out what the message names where it is not needed, and batches are sharded. --shard data
    does so in any case, with a warning or a refusal.

Before:
    loss = contrast(model(x))  # compares all samples

After:
    loss = criterion(model(x), y)

When to ignore:
    Where loading data takes little of the time.
""",
    "DT016": """\
What:
    Shares of batches leave a doubt, and calls of models cannot be split here either, for the
    reason in the message.

Why:
    Neither way of sharing is shown to train the same model.

How to fix:
    Take out one of the two obstacles: the message names both, with their lines.

Before:
    loss = contrast(model(x))
    model.history.append(x)

After:
    loss = contrast(model(x))

When to ignore:
    Never where the script shall be converted; --shard data or calls asks for one way.
""",
    "DT017": """\
What:
    Something that joins the processes, or wraps and shards, was not found beside the script.

Why:
    What is not found may have distributed the script already, and a conversion would average
    gradients twice.

How to fix:
    Put the module beside the script, or take out what is distributed.

Before:
    from cluster import setup_ddp  # not in this folder

After:
    import torch

When to ignore:
    Where that module is known to do nothing of the kind: --allow-partial.
""",
    "DT019": """\
What:
    Where calls of models are split, every process evaluates everything; --eval shard was given.

Why:
    The numbers are those of one process, but evaluations take as long as in one process.

How to fix:
    Leave --eval shard out, or choose --shard data where batches can be sharded.

Before:
    disttranspile train.py --shard calls --eval shard

After:
    disttranspile train.py --shard calls

When to ignore:
    Where evaluations take little of the time.
""",
    "DT020": """\
What:
    The conversion would change a file that belongs to no folder of this project.

Why:
    Others may use it, so that it is never written.

How to fix:
    Copy it into the project, or make the folder above both one project.

Before:
    sys.path.append("/shared/library")

After:
    cp -r /shared/library ./library

When to ignore:
    Never: nothing outside the project is changed.
""",
}
