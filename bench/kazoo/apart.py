"""Contenders in processes of their own: what one of those processes does."""
import mmap
import time

from scene import Report, Workload, sleep_until


class Board:
    """What the processes that want one lock share: see driver/board.hpp."""

    START, RELEASED, HOLDER = range(3)

    def __init__(self, asked):
        with open(asked.text("board"), "r+b") as file:
            self.words = memoryview(mmap.mmap(file.fileno(), 24)).cast("q")
        self.me = asked.number("process") + 1

    def start(self):
        return self.words[self.START]

    def granted(self, now):
        """How long after its release in another process; None if this one, or nobody, had the lock before."""
        before = self.words[self.HOLDER]
        return None if before in (0, self.me) else now - self.words[self.RELEASED]

    def releasing(self):
        self.words[self.HOLDER] = self.me
        self.words[self.RELEASED] = time.monotonic_ns()


class Apart(Workload):
    """handoff and crowd with contenders in other processes, too: see zklock/apart.cpp and driver/board.hpp."""

    def set_up(self):
        super().set_up()
        self.board = Board(self.asked)
        self.handoff = self.asked.workload == "handoff"
        self.contend_from(time.monotonic_ns(), 100_000_000)

    def measure(self):
        self.contend_from(self.board.start(), self.measured_ns())
        self.found.elapsed_ns = self.measured_ns()
        self.found.operations = self.passed_on if self.handoff else self.grants
        self.found.figures.update(all_operations=self.all, grants=self.grants, passed_on=self.passed_on)
        return self.found

    def contend_from(self, first, ns):
        """Returns when nobody of this process wants the lock any more."""
        self.found = Report("acquire", "handoff")
        self.end = first + ns
        self.grants = self.passed_on = self.all = 0
        for _ in range(1 if self.handoff else self.asked.number("waiters") // self.asked.number("processes")):
            self.start(self.contend, first)
        self.join()

    def contend(self, first):
        lock = self.clients[0].Lock(self.path)
        hold_ns = self.asked.number("hold_us", 0) * 1_000
        sleep_until(first)
        while (asked_at := time.monotonic_ns()) < self.end:
            lock.acquire()
            now = time.monotonic_ns()
            self.count(asked_at, now)
            if hold_ns:
                sleep_until(now + hold_ns)
            self.board.releasing()
            lock.release()

    def count(self, asked_at, now):
        since_release = self.board.granted(now)
        with self.mutex:
            self.all += since_release is not None or not self.handoff
            if now >= self.end:
                return
            self.grants += 1
            self.found.latencies["acquire"].record(now - asked_at)
            if since_release is not None:
                self.passed_on += 1
                self.found.latencies["handoff"].record(since_release)
