"""Why the findings that belong to no rule matter, and what to do about them."""

from __future__ import annotations

ADVICE = {
    "DT001": """\
Each call is followed with what it is given. Where calls branch too often or nest too deeply,
that would take minutes, and what was not followed cannot be converted with certainty. Convert
the part that trains as a script of its own, or break recursion up.
""",
    "DT002": """\
No module of the project imports a framework that has rules. Where the script trains through
code that is installed apart, name it under [tool.disttranspile.roles], or give --framework.
""",
    "DT003": """\
It joins a process group, wraps its model, or leaves this to a library. `disttranspile audit`
looks for what may hang or diverge in it. To convert it anew, take out what distributes it.
""",
    "DT004": """\
No backward pass, and no call that makes one, is reached when the script runs as a program. Name
the script that starts the training rather than the module that it imports.
""",
    "DT005": """\
A backward pass, an optimizer step or a loader of training data stands where no rule can say
what several processes make of it. Half a conversion would train something else in silence, so
there is none. Make it part of the loop that trains, or convert it by hand.

Before:
    train(model, loader)
    for batch in extra_loader:
        criterion(model(batch[0]), batch[1]).backward()

After:
    train(model, loader)
    train(model, extra_loader)
""",
    "DT006": """\
The module works for that script as before as long as it runs as one process. Started as
several, it would need a conversion of its own: convert both with the same options into one
folder.
""",
    "DT007": """\
It has a syntax error, or its encoding cannot be told, so that nothing is known of what it does.
Where the training goes through it, mend it first.
""",
    "DT008": """\
`__file__` leads elsewhere in the copy. Pass the folder in by an option of the script, copy the
files that are meant, or write the output beside the script.
""",
    "DT009": """\
A module runs when it is imported, before the script joins the process group, and what has to be
changed there needs that group. Move the statement into a function that the script calls.

Before:
    loader = DataLoader(make_dataset(), batch_size=32)

After:
    def make_loader():
        return DataLoader(make_dataset(), batch_size=32)
""",
    "DT010": """\
One process does this alone, and inside of it all processes would have to meet: the one would
wait for ever. Compute the number first, by all, and show or write it then.

Before:
    torch.save({"accuracy": evaluate(model, loader)}, path)

After:
    accuracy = evaluate(model, loader)
    torch.save({"accuracy": accuracy}, path)
""",
    "DT011": """\
It is defined, and nothing that the script runs calls it, so that it is neither converted nor
checked. It matters where something outside of the project calls it, or a name is built at run
time.
""",
    "DT012": """\
Each process takes its share of every batch, which this number of processes does not allow.
Choose a number of processes, or a batch size, that the message names, or --batch-size per-device.
""",
    "DT013": """\
Between the imports no process knows whether it is the first, so that all of them do it. Put it
behind the imports.
""",
    "DT014": """\
What the output uses came with a later version of the framework than --target-version names.
Give a later one, or leave the option out that asks for it.
""",
    "DT015": """\
What the message names cannot be proven equal for shares of a batch. So every process draws
whole batches, and only the calls of models are sharded: exact, but each process loads all
the data. With --shard data the script is refused or warned of instead.
""",
    "DT016": """\
Shares of batches leave a doubt, and calls of models cannot be split here either, for the reason
in the message. Removing either of the two lets the script be converted.
""",
    "DT017": """\
What the script imports may have distributed it, and that module was not found. Converting it
once more would average gradients twice. Put the module beside the script, or take out what is
distributed.
""",
    "DT018": """\
The output is audited before it is written, and its processes would wait for ever or train apart in
the place that the message names, so nothing is written. `disttranspile explain` with the code in
the message says more. Convert the script by hand, or write it with --allow-partial and mend that
place.
""",
    "DT020": """\
The conversion would change a file that belongs to no folder of this project, which others may
use. Copy it into the project, or make the folder above both one project.
""",
    "AU001": """\
Nothing in it joins other processes, so there is nothing to compare. `disttranspile` converts
it.
""",
    "AU002": """\
Its calls branch too often or nest too deeply for it to be run as several processes. Audit the
modules that train on their own.
""",
    "AU003": """\
Lightning, Accelerate, DeepSpeed and their like wrap models and share data out by themselves.
Only what the script does beside them is looked at.
""",
    "AU004": """\
It has a syntax error, or its encoding cannot be told. What it does on several processes is not
known.
""",
    "DT801": """\
Parameter servers hold all parameters among them. Give them more with --memory server=SIZE, or
take more of them with --servers.
""",
    "DT802": """\
Gradients of every parameter travel at every step. The message weighs that against --step-time.
More work per step (--batch-size per-device), --compression or a faster network helps.
""",
    "DT803": """\
The processes share a batch evenly, and the converted script stops at its start where it cannot.
Give the script a batch size that divides by the processes.
""",
    "DT804": """\
Workers share a store from MXNet 1.2.1 on, in builds with USE_DIST_KVSTORE. Take such an image.
""",
    "DT805": """\
What the script says of its loader's workers holds for each process, and a machine runs several.
Divide it among them, or give the machines more --cpus.
""",
}
