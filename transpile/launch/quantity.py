"""Amounts of CPUs, memory and time, as people write them and as platforms read them."""

from __future__ import annotations

import re
from decimal import Decimal

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([kKMGTP]i?)?B?")
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_PREFIXES = "kMGTP"


def parse_cpus(text: str) -> Decimal:
    """Return how many CPUs ``12``, ``0.5`` or ``500m`` are.

    Raises:
        ValueError: it is no positive number of thousandths.
    """
    if not re.fullmatch(r"\d+(\.\d{1,3})?|\d+m", text, re.ASCII):
        raise ValueError(f"{text!r} is no number of CPUs such as 12 or 0.5")
    cpus = Decimal(text[:-1]) / 1000 if text.endswith("m") else Decimal(text)
    if not cpus:
        raise ValueError("no CPU at all is too few")
    return cpus


def cpus_text(cpus: Decimal) -> str:
    """Return a number of CPUs as Kubernetes writes it: ``12`` or ``500m``."""
    return str(int(cpus)) if cpus == int(cpus) else f"{int(cpus * 1000)}m"


def parse_memory(text: str) -> int:
    """Return the bytes of ``120G``, ``64Gi`` or ``512MB``, where only an ``i`` means powers of two.

    Raises:
        ValueError: it is no positive amount.
    """
    match = re.fullmatch(_MEMORY, text)
    if match is None or not text.isascii():
        raise ValueError(f"{text!r} is no amount of memory such as 120G or 64Gi")
    number, unit = match.groups(default="")
    base = 1024 if unit.endswith("i") else 1000
    power = _PREFIXES.lower().index(unit[0].lower()) + 1 if unit else 0
    amount = int(Decimal(number) * base**power)
    if not amount:
        raise ValueError("no memory at all is too little")
    return amount


def memory_text(amount: int) -> str:
    """Return bytes as Kubernetes writes them, with the largest unit that is exact: ``120G``."""
    for power in range(len(_PREFIXES), 0, -1):
        for base, suffix in ((1000, ""), (1024, "i")):
            if amount % base**power == 0:
                prefix = _PREFIXES[power - 1]
                if suffix:
                    prefix = prefix.upper()
                return f"{amount // base**power}{prefix}{suffix}"
    return str(amount)


def mebibytes(amount: int) -> int:
    """Return bytes as whole MiB, rounded up, which is what Slurm calls megabytes."""
    return -(-amount // 1024**2)


def parse_time(text: str) -> int:
    """Return the seconds of a time as Slurm writes it: minutes, ``HH:MM:SS`` or ``D-HH:MM:SS``.

    Raises:
        ValueError: it is no time of at least a second.
    """
    match = re.fullmatch(_TIME, text)
    if match is None or not text.isascii():
        raise ValueError(f"{text!r} is no time such as 90 (minutes), 12:00:00 or 2-12:00:00")
    days, *found = match.groups()
    parts = [int(part) for part in found if part is not None]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if not total:
        raise ValueError("no time at all is too short")
    return total


def time_text(seconds: int) -> str:
    """Return seconds as Slurm writes them: ``12:00:00`` or ``2-12:00:00``."""
    days, rest = divmod(seconds, 24 * 3600)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def parse_count(text: str) -> int:
    """Return the number of ``25600000``, ``25.6M`` or ``7B``.

    Raises:
        ValueError: it is no positive number.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGBT]?)", text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is no number such as 25.6M")
    factor = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
    count = int(Decimal(match[1]) * factor[match[2].lower()])
    if not count:
        raise ValueError("no parameter at all is too few")
    return count
