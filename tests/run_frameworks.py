"""Makes an environment for each other framework and runs its tests.

    python3 tests/run_frameworks.py [FRAMEWORK...] [-- arguments for pytest]

The tests themselves run in the environment of tests/run.py; the scripts that they start run in the
framework's own, .venv-FRAMEWORK beside this folder, which is kept as long as the requirements stay
the same. A framework whose interpreter or packages cannot be had is skipped, and the last lines say
so. One of several gigabytes (fluid_nccl2) is made only where it is named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import run
from framework_environments import ENVIRONMENTS, Environment, find_python

NO_TESTS_COLLECTED = 5
#: Tests that need no environment of their own, but more time than the first command has: scripts of
#: several frameworks, and all PyTorch fixtures under the device rules of CUDA and NCCL.
WITHOUT_ENVIRONMENT = {
    "launched in pods": "tests/launch/test_manifest_runs_elsewhere.py",
    "pretended GPUs": "tests/frameworks/pretended_gpus",
}


def main(arguments: list[str]) -> int:
    """Run the tests of the frameworks that are named, or of all; return the exit status."""
    separator = arguments.index("--") if "--" in arguments else len(arguments)
    common = [name for name, environment in ENVIRONMENTS.items() if not environment.on_request]
    names, rest = arguments[:separator] or common, arguments[separator + 1 :]
    unknown = [name for name in names if name not in ENVIRONMENTS]
    if unknown:
        print(
            f"no such framework: {unknown[0]} (known: {', '.join(ENVIRONMENTS)})", file=sys.stderr
        )
        return 2
    run.prepare()
    status = 0
    said = []
    for name in names:
        environment = ENVIRONMENTS[name]
        if not environment.tests.exists():
            said.append(f"{name}: has no tests")
            continue
        missing = prepare(environment)
        if missing:
            said.append(f"{name}: SKIPPED, {missing}")
            continue
        failed = run.run(["pytest", str(environment.tests), *(rest or run.parallel())])
        status = status or (0 if failed == NO_TESTS_COLLECTED else failed)
        said.append(f"{name}: {'failed' if failed else 'passed'}")
    if not arguments:
        for name, tests in WITHOUT_ENVIRONMENT.items():
            failed = run.run(["pytest", tests, *run.parallel()])
            status = status or failed
            said.append(f"{name}: {'failed' if failed else 'passed'}")
    print(*said, sep="\n", flush=True)
    return status


def prepare(environment: Environment) -> str:
    """Make a framework's environment unless it is there; return why that fails, else nothing."""
    if environment.is_complete:
        return ""
    interpreter = find_python(environment.python)
    if interpreter is None:
        return f"it needs Python {environment.python}, which is neither on the path nor in pyenv"
    print(f"Setting up {environment.folder.name} ...", flush=True)
    if environment.folder.exists():
        shutil.rmtree(environment.folder)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pip = [str(environment.interpreter), "-m", "pip", "--disable-pip-version-check", "-qq"]
    for words in (
        [str(interpreter), "-m", "venv", str(environment.folder)],
        [*pip, "install", *environment.requirements],
    ):
        done = subprocess.run(words, env=clean, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            return f"its packages could not be installed ({' '.join(environment.requirements)})"
    environment.stamp.write_text(environment.wanted, "utf-8")
    return ""


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
