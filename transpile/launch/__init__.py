"""Launch files: what starts a converted script on a cluster.

A target is a module of ``manifests`` or ``scripts``, or of this package, with ``FRAMEWORKS``, the
frameworks whose scripts it starts, and a function ``files``, which makes of a
:class:`~transpile.launch.job.Job` the texts of the files that start it, by their paths relative to
one folder, and raises ``ValueError`` where the job is none for it. It sees nothing but the job. Its
name is that of the module, with hyphens. What several targets share is in the other modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from transpile.launch.job import Job


@dataclass(frozen=True)
class Target:
    """A way to start jobs.

    Args:
        name: as ``--target`` takes it.
        frameworks: whose scripts it starts.
        make: what makes the files.
    """

    name: str
    frameworks: frozenset[str]
    make: Callable[[Job], Mapping[str, str]]

    def __call__(self, job: Job) -> Mapping[str, str]:
        """Return the texts of the files that start `job`, by their relative paths.

        Raises:
            ValueError: the job is none for this target.
        """
        if job.framework not in self.frameworks:
            fitting = [name for name, each in targets().items() if job.framework in each.frameworks]
            raise ValueError(
                f"{self.name} does not start scripts of {job.framework}, which these do: "
                f"{', '.join(fitting) or 'none'}"
            )
        return self.make(job)


@cache
def targets() -> Mapping[str, Target]:
    """All launch targets by their names, in alphabetical order."""
    import pkgutil

    found = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = import_module(info.name)
        if hasattr(module, "files"):
            name = info.name.rpartition(".")[2].replace("_", "-")
            found[name] = Target(name, frozenset(module.FRAMEWORKS), module.files)
    return dict(sorted(found.items()))
