"""Which versions of a package the files beside a script ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from transpile.records import dataclass

VERSION = re.compile(r"([<>=!~^]=?=?)?\s*v?(\d+(?:\.\d+)*)[\w.*]*")


@dataclass(frozen=True)
class Required:
    """What one line asks for.

    Args:
        path: the file.
        line: its number, from 1.
        text: the line.
        bounds: the operators, empty where there is none, and versions that it gives.
        built: it names a package that somebody has built.
    """

    path: str
    line: int
    text: str
    bounds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    built: bool = False


def required(files: Mapping[str, str], package: str, built: str) -> Iterator[Required]:
    """Every line of some files that asks for a package.

    Args:
        files: the texts of requirement files and the like, by their paths.
        package: the pattern of the package's names.
        built: the pattern of a word in the names of files and repositories of the package.
    """
    wanted = re.compile(
        rf"""^[\s\-"']*(?:{package})["']?\s*(?:\[[^\]]*\])?(?:\s*=\s*["'])?
        (?P<versions>(?:\s*(?:[<>=!~^]=?=?|(?<=["']))\s*v?\d[\w.*]*\s*,?\s*)*)""",
        re.VERBOSE,
    )
    fetched = re.compile(
        rf"""^[\s\-"']*(?:(?:{package})\s*@|.*\b{built}\b[^\s"']*\.(?:whl|git|zip|tar\.gz))"""
    )
    for path, text in sorted(files.items()):
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.split("#")[0].rstrip()
            if fetched.match(stripped):
                yield Required(path, number, line.strip(), built=True)
                continue
            found = wanted.match(stripped)
            if found is not None and ends(stripped[found.end() :]):
                bounds = tuple(
                    (operator, tuple(int(part) for part in version.split(".")))
                    for operator, version in VERSION.findall(found["versions"])
                )
                yield Required(path, number, line.strip(), bounds)


def ends(rest: str) -> bool:
    """Whether nothing but the end of an item follows: another name would be another package."""
    return re.match(r"""["',;\]\s]*(;.*)?$""", rest) is not None
