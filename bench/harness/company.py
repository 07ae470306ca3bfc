"""The processes that measure one load of a system together: one, or several that want the same lock."""
import mmap
import os
import struct
import time

from data import Scratch
from drivers import DriverError

HEAD_START_NS = 20_000_000  # until all have been told when they start
BOARD = struct.Struct("qqq")  # driver/board.hpp: when to start; when it was released last, and by whom


class Company:
    def __init__(self, drivers, base):
        self.drivers = drivers
        self._processors = os.sched_getaffinity(0)
        self._scratch = Scratch(base) if len(drivers) > 1 else None
        if self._scratch:
            self._board = self._scratch.path / "board"
            self._board.write_bytes(bytes(BOARD.size))

    def set_up(self, workload, values):
        self._each(lambda i, driver: driver.ask(workload, {**values, **self._part(i)}))
        self._each(lambda i, driver: driver.get_ready())
        # Not before: a virtual machine that starts counts the processors, and makes its threads.
        self._share_out_processors()

    def start_measuring(self):
        if self._scratch:
            self._write_board(time.monotonic_ns() + HEAD_START_NS)
        self._each(lambda i, driver: driver.start_measuring())

    def result(self):
        found = []
        self._each(lambda i, driver: found.append(driver.result()))
        return joined(found) if self._scratch else found[0]

    def tear_down(self):
        self._each(lambda i, driver: driver.end())
        self._each(lambda i, driver: driver.get_ended())

    def close(self):
        try:
            if self._has_enough_processors():
                for driver in self.drivers:
                    driver.run_on(self._processors)
        finally:
            if self._scratch:
                self._scratch.remove()

    def _share_out_processors(self):
        """Each has one of its own, as on machines of their own."""
        if self._has_enough_processors():
            for driver, processor in zip(self.drivers, sorted(self._processors)):
                driver.run_on({processor})

    def _has_enough_processors(self):
        return 1 < len(self.drivers) <= len(self._processors)

    def _part(self, number):
        """What it is told beside the load."""
        return {"processes": len(self.drivers), "process": number, "board": self._board} if self._scratch else {}

    def _write_board(self, start):
        with open(self._board, "r+b") as file, mmap.mmap(file.fileno(), BOARD.size) as memory:
            BOARD.pack_into(memory, 0, start, 0, 0)

    def _each(self, do):
        """One that fails leaves the others waiting for it, or holding what it wants."""
        try:
            for i, driver in enumerate(self.drivers):
                do(i, driver)
        except DriverError:
            for driver in self.drivers:
                driver.kill()
            raise


def joined(found):
    """What the processes found, as if it had been one."""
    whole = {"operations": sum(f["operations"] for f in found), "seconds": max(f["seconds"] for f in found),
             "latencies": {}, "figures": {}}
    for one in found:
        for name, counts in one["latencies"].items():
            sums = whole["latencies"].setdefault(name, {})
            for ns, count in counts:
                sums[ns] = sums.get(ns, 0) + count
        for name, value in one["figures"].items():
            whole["figures"][name] = whole["figures"].get(name, 0) + value
    whole["latencies"] = {name: sorted(counts.items()) for name, counts in whole["latencies"].items()}
    return whole
