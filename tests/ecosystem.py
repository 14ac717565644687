"""The ecosystem check: converts the scripts of whole repositories, and runs those that can run.

    python tests/ecosystem.py FOLDER... [--run COMMANDS.json] [--json OUT] [--compare OLD.json]

Each folder is a repository. Prints a table of outcomes, the codes that refuse, every output that is
not Python or that a second conversion would change, and every crash. With a commands file, original
and output are run as one and as two processes on stand-in data, and audited:

    [{"script": "REPOSITORY/train.py", "arguments": "--epochs 1", "prepare": "mkdir data"}]

`folder` there names the part of the repository to copy, `start` the folder to start in. The scripts
see this interpreter's packages and the environment, `STANDIN_TRAIN` and `STANDIN_TEST` among it.
With `--pretend-cuda N` they see N GPUs that are not there, under the device rules of CUDA and NCCL.
Runs code of other people: only for repositories that you trust.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from corpus.commands import Command, chosen, read_commands
from corpus.comparison import compare
from corpus.conversions import convert_all
from corpus.record import Record, load, save
from corpus.runs import run_all
from corpus.scripts import repositories, scripts_below
from corpus.tables import details, run_lines, table, wrong


def main(arguments: list[str]) -> int:
    """Check the folders; return 1 where the tool fails, 2 where it is called wrongly."""
    options = parse(arguments)
    commands: list[Command] = []
    old = None
    try:
        roots = repositories(options.folder)
        if options.run:
            commands = chosen(read_commands(options.run), options.only)
        if options.compare:
            old = load(options.compare)
    except (OSError, ValueError) as error:
        print(f"ecosystem.py: {error}", file=sys.stderr)
        return 2
    scripts = [
        script
        for script in scripts_below(roots)
        if not options.only or any(text in script.name for text in options.only)
    ]
    started = time.monotonic()
    converted = []
    for row in convert_all(scripts, jobs=options.jobs, limit=options.limit):
        converted.append(row)
        if row.wrong:
            print("\n".join(wrong([row])), file=sys.stderr, flush=True)
    print(table(converted), end="", flush=True)
    print(f"{len(scripts)} files in {time.monotonic() - started:.0f} s", flush=True)
    runs = []
    if commands:
        for run in run_all(
            commands,
            {root.name: root for root in roots},
            limit=options.limit,
            pretend_cuda=options.pretend_cuda,
            noise=options.noise,
        ):
            runs.append(run)
            print("\n".join(run_lines(run)), file=sys.stderr, flush=True)
    record = Record(tuple(converted), tuple(runs))
    print(details(record), end="")
    if options.json:
        save(record, options.json)
    if old is not None:
        print(
            "\nCompared with the old record\n" + (compare(old, record) or "no difference\n"), end=""
        )
    return int(any(row.wrong for row in converted) or any(run.wrong for run in runs))


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="+", help="a repository")
    parser.add_argument("--run", type=Path, metavar="COMMANDS.json", help="what to run")
    parser.add_argument("--json", type=Path, metavar="OUT", help="where to keep the record")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="record of another commit")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="what names must hold"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--limit",
        type=int,
        default=100,
        help="seconds: processor time of a conversion, time of a run [100]",
    )
    parser.add_argument(
        "--pretend-cuda", type=int, default=0, metavar="N", help="runs see N pretended GPUs"
    )
    parser.add_argument("--noise", action="store_true", help="whose last digits differ")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
