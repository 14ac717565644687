"""The lock on a journal, which tells a run that is under way from one that was killed."""

from __future__ import annotations

import contextlib
import os
import time

from transpile.reading import LARGEST, read_regular

#: The contents of a whole project stand in a journal.
_LARGEST = 16 * LARGEST
#: Seconds to wait for another run, which writes for some milliseconds.
_PATIENCE = 20.0
_PAUSE = 0.01


class JournalError(OSError):
    """Files cannot be written or put back because of another run.

    Args:
        journal: the journal of that run.
        reason: what is the matter, in one line.
        advice: what to do about it.
    """

    def __init__(self, journal: str, reason: str, advice: str) -> None:
        super().__init__(None, reason, journal)
        self.reason = reason
        self.advice = advice


class Lock:
    """The lock on a journal, which ends with the process that holds it.

    Args:
        path: the journal; empty where a run has no folder for one.
        descriptor: the open journal.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Write the journal."""
        with open(self.descriptor, "wb", closefd=False) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(self.descriptor)

    def remove(self) -> None:
        """Delete the journal, and let go of the lock."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.release()

    def release(self) -> None:
        """Let go of the lock."""
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


def create(path: str) -> Lock | None:
    """Make an empty journal and lock it; None where there is one already."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        lock = Lock(path, os.open(path, flags, 0o600))
    except FileExistsError:
        return None
    if _lock(lock.descriptor) and _is_still(lock):
        return lock
    lock.release()
    return None


def take(path: str) -> tuple[Lock, bytes] | None:
    """Lock the journal of another run, and return what it holds; None where it is gone.

    Raises:
        JournalError: that run is under way, or somebody else's.
        OSError: it cannot be read.
    """
    if os.path.islink(path):
        raise JournalError(path, "is a link, not a journal", "Look at it, and delete it.")
    try:
        read_regular(path, _LARGEST)
        lock = Lock(path, os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0)))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise JournalError(
            path, "is the journal of somebody else's run", "Ask its owner to run the tool again."
        ) from error
    owner = os.fstat(lock.descriptor).st_uid
    if hasattr(os, "getuid") and owner != os.getuid():
        lock.release()
        raise JournalError(
            path, "is the journal of somebody else's run", "Ask its owner to run the tool again."
        )
    if not _lock_in_time(lock):
        lock.release()
        raise JournalError(
            path, "shows that another run is writing here", "Wait until that run has ended."
        )
    if not _is_still(lock):
        lock.release()
        return None
    return lock, read_regular(path, _LARGEST)


def _lock_in_time(lock: Lock) -> bool:
    """Whether this process gets the lock before its patience ends."""
    end = time.monotonic() + _PATIENCE
    while not _lock(lock.descriptor):
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE)
    return True


def _lock(descriptor: int) -> bool:
    """Whether this process holds the lock now; where a system has no such locks, it does."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems have no locks.
        return True
    return True


def _is_still(lock: Lock) -> bool:
    """Whether the locked file is still the one by that name."""
    try:
        named, held = os.stat(lock.path), os.fstat(lock.descriptor)
    except OSError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
