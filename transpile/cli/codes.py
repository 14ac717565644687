"""The findings of the command itself, about files rather than training."""

from __future__ import annotations

from transpile.acceptance.unused import UNUSED_COMMENT, UNUSED_ENTRY

UNREADABLE = "DT901"
UNPARSABLE = "DT902"
UNWRITABLE = "DT903"
INTERNAL = "DT904"
INTERRUPTED = "DT905"
LEFT_ALONE = "DT907"
CONVERTED_BESIDE = "DT909"
NOTEBOOK_ONLY = "DT910"
NOTEBOOK_LAUNCH = "DT911"

EXPLANATIONS = {
    UNREADABLE: """an input cannot be read

What:
    It does not exist, may not be read, is a pipe, a socket or a device, or is too large to be a
    script.

Why:
    Nothing was written for it.

How to fix:
    Name a script. Folders are taken by --check, --diff, --in-place and -o FOLDER/ alone.

Before:
    disttranspile src -o train_dist.py

After:
    disttranspile src -o out/

When to ignore:
    Never: leave the name out.
""",
    UNPARSABLE: """an input is not Python 3 that can be parsed

What:
    It has a syntax error, is Python 2, holds NUL bytes, names an encoding that no editor writes,
    or is nested too deeply.

Why:
    Nothing can be said of a text that is no program; nothing was written.

How to fix:
    See what `python3 -m py_compile FILE` says of it.

Before:
    print "epoch", epoch

After:
    print("epoch", epoch)

When to ignore:
    Where it is no script of yours: `exclude` it.
""",
    UNWRITABLE: """an output cannot be written

What:
    It exists and holds something else than what would be written, which may be yours; or its
    folder is missing, write-protected or full.

Why:
    What you wrote by hand is never lost; the file is as it was.

How to fix:
    Name another output, or overwrite it with --force.

Before:
    disttranspile train.py -o train_dist.py

After:
    disttranspile train.py -o train_dist.py --force

When to ignore:
    Never: look at the file first.
""",
    INTERRUPTED: """an earlier run was killed while it wrote here

What:
    It has left old files of a project beside converted ones, or its journal cannot be read or is
    still in use.

Why:
    Converted as it is now, the project would be a mixture. Nothing was written.

How to fix:
    --in-place puts the files back, and converts them as it is asked to; what was changed since is
    left alone and named.

Before:
    disttranspile train.py -o out/

After:
    disttranspile train.py --in-place

When to ignore:
    Never: look at the journal that is named, and delete it where it is stale.
""",
    INTERNAL: """the tool itself has failed

What:
    A mistake of the tool, not of the script.

Why:
    Nothing was written.

How to fix:
    Please report it with the message and, if you can, with a script that shows it.

Before:
    disttranspile train.py -o train_dist.py

After:
    disttranspile audit train_dist.py  # what you converted by hand meanwhile

When to ignore:
    Never.
""",
    UNUSED_COMMENT: """a comment accepts a finding that is not there

What:
    `# disttranspile: ignore[PT403] reason` accepts the findings of that code on its line, or
    alone on a line, on the next one; `# disttranspile: ignore-file[PT403] reason` those of the
    whole file.

Why:
    A comment that accepts nothing would hide the next finding of its code.

How to fix:
    Take it away, or mend it.

Before:
    model = Net()  # disttranspile: ignore[PT403] one file each

After:
    model = Net()

When to ignore:
    Where the finding comes and goes with options of the command.
""",
    UNUSED_ENTRY: """the baseline has a finding that is not there

What:
    What it was about has been mended or rewritten.

Why:
    An entry that fits nothing would hide the next finding like it.

How to fix:
    Write the baseline anew with --write-baseline.

Before:
    disttranspile audit . --baseline known.json

After:
    disttranspile audit . --baseline known.json --write-baseline

When to ignore:
    Where another branch still has it.
""",
    LEFT_ALONE: """a script is left alone because its comment says so

What:
    `# disttranspile: ignore-file reason`, without a code, has the tool leave the script as it is.

Why:
    So that whoever reads the summary knows why it is not converted.

How to fix:
    Take the comment away to have the script converted.

Before:
    # disttranspile: ignore-file a tutorial

After:
    # A tutorial

When to ignore:
    Always where the comment is meant.
""",
    CONVERTED_BESIDE: """the conversion of a script is there already

What:
    It is the output that the configuration pairs with the script, a script of the same folder
    that holds exactly what a conversion makes now, or one named after it (`train_dist.py` beside
    `train.py`) that is distributed.

Why:
    --check takes such a script for done. A warning says that the output of a pair is no longer up
    to date.

How to fix:
    `disttranspile sync` writes it anew.

Before:
    disttranspile --check train.py

After:
    disttranspile sync && disttranspile --check train.py

When to ignore:
    Always where it is a note.
""",
    NOTEBOOK_ONLY: """a line of a notebook is set aside, because only IPython knows it

What:
    Magics (`%matplotlib inline`), commands of the shell (`!pip install`) and questions (`model?`)
    are comments in the script. A notebook that takes a value from such a line (`files = !ls`) is
    not read.

Why:
    A warning says that the notebook may depend on what the line does.

How to fix:
    Do it before the script is started, or write it in Python.

Before:
    !mkdir -p runs

After:
    os.makedirs("runs", exist_ok=True)

When to ignore:
    Where the line only shows something, or has been done already.
""",
    NOTEBOOK_LAUNCH: """a notebook became a script, which a launcher starts

What:
    The process of a notebook cannot become several.

Why:
    What the notebook shows between its cells is not shown then.

How to fix:
    Start the output with torchrun or with what `disttranspile launch` writes.

Before:
    jupyter run train.ipynb

After:
    torchrun --nproc_per_node 4 train_dist.py

When to ignore:
    Always, once you know it.
""",
}
