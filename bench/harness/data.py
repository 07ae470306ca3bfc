"""Where the servers keep their data: in memory, or on a disk."""
import fcntl
import os
import pathlib
import shutil
import tempfile

MEMORY, DISK = pathlib.Path("/dev/shm"), pathlib.Path("/var/tmp")
ROOM = 1 << 30  # bytes; less is not enough for logs
IN_MEMORY = ("tmpfs", "ramfs")


class Place:
    """`folder` is None where the usual one will do for bench_servers, which is in memory if it can be."""

    def __init__(self, wanted):
        self.on_disk = wanted != "memory"
        self.base = MEMORY if self._roomy() else pathlib.Path(tempfile.gettempdir())
        if self.on_disk:
            self.base = DISK if wanted == "disk" else pathlib.Path(wanted)
        if not os.access(self.base, os.W_OK | os.X_OK):
            raise OSError(f"{self.base} is no folder that can be written to")
        self.kind = file_system(self.base)
        if self.on_disk and self.kind in IN_MEMORY:
            raise OSError(f"{self.base} is in memory ({self.kind}): --data takes a folder on a disk")

    def _roomy(self):
        return MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM

    @property
    def folder(self):
        return self.base if self.on_disk else None

    @property
    def scratch(self):
        """For what processes share: in memory, if it can be, wherever the servers' data are."""
        return MEMORY if os.access(MEMORY, os.W_OK) else pathlib.Path(tempfile.gettempdir())

    def told(self):
        """For the report."""
        if self.kind in IN_MEMORY:
            return f"in memory ({self.base}, {self.kind})"
        synced = "written and synced" if self.on_disk else "written"
        return f"on disk ({self.base}, {self.kind}; {synced})"

    def word(self):
        """For the file."""
        return "memory" if self.kind in IN_MEMORY else "disk"


def file_system(path):
    """The kind of the one that a folder is on, as the kernel calls it."""
    path, best, kind = path.resolve(), -1, "unknown"
    for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, found, *_ = line.split()
        where = pathlib.Path(where.replace("\\040", " "))
        if (where == path or where in path.parents) and len(where.parts) >= best:
            best, kind = len(where.parts), found
    return kind


class Scratch:
    """A folder below another one. Locked, so that the servers' tests, which clear away what killed ones of their name
    left, leave it alone, and do so when this process was killed."""

    def __init__(self, base):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="zklock-test-", dir=base))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)  # what is left is cleared away later
        os.close(self._lock)
