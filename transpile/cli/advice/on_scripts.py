"""The manual of the findings that say what a script is, and what cannot be followed in it."""

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
}
