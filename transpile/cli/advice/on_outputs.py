"""The manual of the findings that say where an output stands and what would fail in it."""

ADVICE = {
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
