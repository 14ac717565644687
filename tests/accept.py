"""Writes what the tool makes of the fixtures as what is expected of it: read the diff.

python tests/accept.py [CASE ...]
"""

from __future__ import annotations

import sys

from cases import cases, converted, findings_text


def main(names: list[str]) -> int:
    """Accept the cases named, or all."""
    wrong = 0
    for case in cases():
        if names and case.folder.name not in names:
            continue
        result = converted(case)
        case.expected_findings.write_text(findings_text(result), "utf-8")
        if result.outcome.value == "converted":
            case.expected_output.write_bytes(result.data)
        else:
            case.expected_output.unlink(missing_ok=True)
        if result.outcome.value != case.expect:
            wrong += 1
            print(f"{case.name}: {result.outcome.value}, but {case.expect} was expected")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
