"""The pretended machine: its GPUs, and which of them a thread uses."""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

torch: Any = importlib.import_module("torch")

CPU = torch.device("cpu")
#: What newer versions raise where CUDA reports an error.
AcceleratorError: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)


class Machine:
    """The GPUs of this process.

    Args:
        count: how many there are.
        noise: whether results differ from process to process.
    """

    def __init__(self) -> None:
        self.count = 0
        self.noise = False
        self._thread = threading.local()
        self._process: int | None = None
        self._seen: int | None = None
        self._counted: int | None = None

    @property
    def started(self) -> bool:
        """Whether CUDA was initialised in this process."""
        return self._process == os.getpid()

    def seen(self) -> int:
        """How many GPUs the process sees; fixed by the first question once CUDA is initialised."""
        if self._counted is None and self._seen is not None:
            self._counted = self._visible()
        return self._visible() if self._counted is None else self._counted

    def _visible(self) -> int:
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        if chosen is None:
            return self.count
        numbers = 0
        for word in chosen.split(","):
            if not word.strip().isdigit() or int(word) >= self.count:
                break
            numbers += 1
        return numbers

    def start(self) -> None:
        """Initialise CUDA, as its first use does."""
        if self._process is None:
            if not self.seen():
                raise RuntimeError("No CUDA GPUs are available")
            self._process, self._seen = os.getpid(), self._visible()
            torch.cuda._initialized = True
        elif not self.started:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                "multiprocessing, you must use the 'spawn' start method"
            )

    @property
    def current(self) -> int:
        """The number of this thread's current GPU."""
        number: int = getattr(self._thread, "device", 0)
        return number

    @current.setter
    def current(self, number: int) -> None:
        self._thread.device = number

    def physical(self, number: int) -> int:
        """The number that a GPU of this process has for the whole machine."""
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        return number if chosen is None else int(chosen.split(",")[number])

    def resolve(self, device: Any) -> Any:
        """The device that an argument means; the current GPU for None."""
        if device is None or type(device) is int:
            device = torch.device("cuda", self.current if device is None else device)
        device = torch.device(device)
        if device.type != "cuda":
            return device
        self.start()
        number = self.current if device.index is None else device.index
        if number >= (self._seen or 0):
            raise AcceleratorError(
                f"CUDA error: invalid device ordinal (cuda:{number}, of {self._seen} GPUs)"
            )
        return torch.device("cuda", number)


machine = Machine()
