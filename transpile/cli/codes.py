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

It does not exist, may not be read, is a pipe, a socket or a device, or is too large to be a script.
Folders are taken by --check, --diff, --in-place and
-o FOLDER/ alone. Nothing was written.
""",
    UNPARSABLE: """an input is not Python 3 that can be parsed

It has a syntax error, is Python 2, holds NUL bytes, names an encoding that no editor writes, or is
nested too deeply. Nothing was written. See what `python3 -m py_compile FILE` says of it.
""",
    UNWRITABLE: """an output cannot be written

It exists and holds something else than what would be written, which may be yours (--force
overwrites it); or its folder is missing, write-protected or full. The file is as it was.
""",
    INTERRUPTED: """an earlier run was killed while it wrote here

It has left old files of a project beside converted ones, or its journal cannot be read or is still
in use. --in-place puts the files back, and converts them as it is asked to; what was changed since
is left alone and named. Nothing was written.
""",
    INTERNAL: """the tool itself has failed

A mistake of the tool, not of the script. Nothing was written. Please report it with the message
and, if you can, with a script that shows it.
""",
    UNUSED_COMMENT: """a comment accepts a finding that is not there

`# disttranspile: ignore[PT403] reason` accepts the findings of that code on its line, or alone on a
line, on the next one; `# disttranspile: ignore-file[PT403] reason` those of the whole file. A
comment that accepts nothing would hide the next finding of its code: take it away, or mend it.
""",
    UNUSED_ENTRY: """the baseline has a finding that is not there

What it was about has been mended or rewritten. Write the baseline anew with --write-baseline.
""",
    LEFT_ALONE: """a script is left alone because its comment says so

`# disttranspile: ignore-file reason`, without a code, has the tool leave the script as it is.
""",
    CONVERTED_BESIDE: """the conversion of a script is there already

It is the output that the configuration pairs with the script, a script of the same folder that
holds exactly what a conversion makes now, or one named after it (`train_dist.py` beside `train.py`)
that is distributed. --check takes such a script for done. A warning says that the output of a pair
is no longer up to date: `disttranspile sync` writes it anew.
""",
    NOTEBOOK_ONLY: """a line of a notebook is set aside, because only IPython knows it

Magics (`%matplotlib inline`), commands of the shell (`!pip install`) and questions (`model?`) are
comments in the script. A warning says that the notebook may depend on what the line does: do it
before the script is started, or write it in Python. A notebook that takes a value from such a line
(`files = !ls`) is not read.
""",
    NOTEBOOK_LAUNCH: """a notebook became a script, which a launcher starts

The process of a notebook cannot become several. Start the output with torchrun or with what
`disttranspile launch` writes; what the notebook shows between its cells is not shown then.
""",
}
