"""What helper functions import: the local name and the dotted one."""

from __future__ import annotations

CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
DEVICE = ("device", "singa.device")
FUNCTOOLS = ("functools", "functools")
LOGGING = ("logging", "logging")
MULTIPROCESSING = ("multiprocessing", "multiprocessing")
NUMPY = ("np", "numpy")
OPT = ("opt", "singa.opt")
OS = ("os", "os")
RUNPY = ("runpy", "runpy")
SINGA = ("singa_wrap", "singa.singa_wrap")
SYS = ("sys", "sys")
ZLIB = ("zlib", "zlib")
TENSOR = ("tensor", "singa.tensor")
