"""No process of an MXNet job starts where MXNet cannot share a store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_job import job

from transpile.launch.scripts.mxnet_check import CHECK, checked_program

BUILT = "class runtime:\n    class Features:\n        def is_enabled(self, name):\n"
CASES = {
    "too old": ('__version__ = "1.1.0"\n', "MXNet 1.1.0 is too old"),
    "without stores": (
        f'__version__ = "1.9.1"\n{BUILT}            return name != "DIST_KVSTORE"\n',
        "built without USE_DIST_KVSTORE",
    ),
    "before runtime": ('__version__ = "1.2.1"\n', ""),
    "with stores": (f'__version__ = "1.9.1"\n{BUILT}            return True\n', ""),
}


@pytest.mark.parametrize(("package", "message"), CASES.values(), ids=list(CASES))
def test_a_pod_starts_its_script_only_with_an_mxnet_that_shares_stores(
    package: str, message: str, tmp_path: Path
) -> None:
    # A process with a role would stay in the import.
    stays = "import os\nassert 'DMLC_ROLE' not in os.environ\n"
    (tmp_path / "mxnet.py").write_text(stays + package, "utf-8")
    (tmp_path / "train.py").write_text("import os\nprint('role', os.environ['DMLC_ROLE'])\n")
    (tmp_path / "python").symlink_to(sys.executable)
    program = checked_program(job(framework="mxnet"), {})
    words = [word if isinstance(word, str) else word.text for word in program.words]
    done = subprocess.run(
        [*words, "train.py"],
        cwd=tmp_path,
        env={
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(tmp_path),
            "DMLC_ROLE": "server",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == ((1, "") if message else (0, "role server\n"))
    assert message in done.stderr


def test_the_check_can_stand_between_single_quotes_of_a_shell() -> None:
    assert "'" not in CHECK and "$" not in CHECK
