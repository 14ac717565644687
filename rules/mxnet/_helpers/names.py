"""What helper functions import: the local name and the dotted one."""

from __future__ import annotations

CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
COPY = ("copy", "copy")
ITERTOOLS = ("itertools", "itertools")
LOGGING = ("logging", "logging")
MX = ("mx", "mxnet")
NUMPY = ("np", "numpy")
OS = ("os", "os")
RANDOM = ("random", "random")
