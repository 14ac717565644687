"""Writes what the tool makes of the fixtures as what is expected of it: read the diff.

python tests/accept.py [CASE ...]
"""

from __future__ import annotations

import shutil
import sys

from cases import Case, cases, converted, findings_text

from transpile import Result


def main(names: list[str]) -> int:
    """Accept the cases named, or all."""
    wrong = 0
    for case in cases():
        if names and case.folder.name not in names:
            continue
        result = converted(case)
        case.expected_findings.write_text(findings_text(result), "utf-8")
        accept_files(case, result)
        if result.outcome.value != case.expect:
            wrong += 1
            print(f"{case.name}: {result.outcome.value}, but {case.expect} was expected")
    return min(wrong, 1)


def accept_files(case: Case, result: Result) -> None:
    """Keep the script, or with changed modules the whole project, in the place of what was kept."""
    shutil.rmtree(case.project_output, ignore_errors=True)
    case.expected_output.unlink(missing_ok=True)
    if result.outcome.value != "converted":
        return
    if result.changed_modules:
        for module in result.modules:
            target = case.project_output / module.place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(module.data)
    case.expected_output.parent.mkdir(parents=True, exist_ok=True)
    case.expected_output.write_bytes(result.data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
