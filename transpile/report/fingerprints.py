"""What tells a finding from others, though the lines around it move."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator

from transpile.finding import Finding
from transpile.report import FileReport


def fingerprints(files: Iterable[FileReport]) -> Iterator[tuple[Finding, str]]:
    """Yield every finding with its fingerprint.

    It is made of the code, the file, what stands in the line, and how many findings before it have
    the same: not of the number of the line.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for file in files:
        for finding in file.findings:
            line = file.lines.get((finding.path, finding.line), "").strip()
            path = finding.path.replace(os.sep, "/")
            key = (finding.code, path, line or finding.message)
            seen[key] += 1
            text = "\0".join((*key, str(seen[key])))
            data = text.encode("utf-8", "backslashreplace")
            yield finding, hashlib.sha256(data).hexdigest()
