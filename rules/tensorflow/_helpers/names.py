"""What helper functions import: the local name and the dotted one."""

from __future__ import annotations

ATEXIT = ("atexit", "atexit")
CONTEXT = ("context", "tensorflow.python.eager.context")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
INSPECT = ("inspect", "inspect")
JSON = ("json", "json")
LOGGING = ("logging", "logging")
MULTIPROCESSING = ("multiprocessing", "multiprocessing")
NUMPY = ("np", "numpy")
OS = ("os", "os")
RANDOM = ("random", "random")
SHUTIL = ("shutil", "shutil")
SYS = ("sys", "sys")
TEMPFILE = ("tempfile", "tempfile")
TF = ("tf", "tensorflow")
THREADING = ("threading", "threading")
