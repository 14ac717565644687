"""Launch files: what starts a converted script on a cluster.

A target is a module of this package with a function ``files``, which makes of a
:class:`~transpile.launch.job.Job` the texts of the files that start it, by their paths relative to
one folder. It sees nothing but the job. Its name is that of the module, with hyphens. What several
targets share is in the other modules.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from transpile.launch.job import Job

Target = Callable[[Job], Mapping[str, str]]


@cache
def targets() -> Mapping[str, Target]:
    """All launch targets by their names, in alphabetical order."""
    found = {}
    for name in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "files"):
            found[name.replace("_", "-")] = module.files
    return found
