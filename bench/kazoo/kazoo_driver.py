"""The driver of kazoo: measures what standard input asks for, one line each, in the steps that all drivers have
(driver/driver.hpp)."""
import itertools
import logging
import os
import sys
import threading
import time
import traceback

from kazoo.exceptions import CancelledError

from apart import Apart
from scene import Report, Request, Workload, sleep_until


class Uncontended(Workload):
    """One path, one client: acquire, then release, and again."""

    def set_up(self):
        super().set_up()
        self.lock = self.clients[0].Lock(self.path)
        self.cycles(100_000_000)

    def measure(self):
        return self.cycles(self.measured_ns())

    def cycles(self, ns):
        report = Report("acquire", "cycle")
        now = start = time.monotonic_ns()
        while now - start < ns:
            self.lock.acquire()
            granted = time.monotonic_ns()
            self.lock.release()
            end = time.monotonic_ns()
            self.record(report, acquire=granted - now, cycle=end - now)
            report.elapsed_ns = end - start
            report.operations += 1
            now = end
        return report


class First(Workload):
    """Each path, which exists, is locked for the first time by this client."""

    def measure(self):
        report = Report("first")
        for i in range(self.asked.number("paths")):
            lock = self.clients[0].Lock(f"{self.path}/{i}")
            start = time.monotonic_ns()
            lock.acquire()
            took = time.monotonic_ns() - start
            self.record(report, first=took)
            report.elapsed_ns += took
            report.operations += 1
            lock.release()
        return report


class Handoff(Workload):
    """Several sessions want one lock all the time. From the call of a release to the next holder's grant."""

    def set_up(self):
        super().set_up()
        self.found = Report("handoff")
        self.last_holder, self.released = 0, time.monotonic_ns()
        for i in range(len(self.clients)):
            self.start(self.contend, i)
        sleep_until(time.monotonic_ns() + 100_000_000)

    def measure(self):
        return self.watch("handoff")

    def contend(self, me):
        lock = self.clients[me].Lock(self.path)
        hold_ns = self.asked.number("hold_us") * 1_000
        while not self.stopping:
            lock.acquire()
            granted = time.monotonic_ns()
            if self.last_holder != me:
                self.record(self.found, handoff=granted - self.released)
                self.found.operations += 1
            if hold_ns:
                sleep_until(granted + hold_ns)
            self.last_holder, self.released = me, time.monotonic_ns()
            lock.release()


class Contenders(Workload):
    """crowd: many threads on one path. independent: as many, each on a path of its own. They never pause."""

    def set_up(self):
        super().set_up()
        self.found = Report("acquire", "cycle")
        self.grants = 0
        crowd = self.asked.workload == "crowd"
        count = self.asked.number("waiters" if crowd else "paths")
        for i in range(count):
            self.start(self.contend, self.path if crowd else f"{self.path}/{i}")
        limit = time.monotonic_ns() + self.asked.number("warm_up_ms", 3_000) * 1_000_000
        while self.grants < count and time.monotonic_ns() < limit:
            time.sleep(0.02)

    def measure(self):
        return self.watch("acquire", "cycle")

    def contend(self, path):
        lock = self.clients[0].Lock(path)
        while not self.stopping:
            start = time.monotonic_ns()
            lock.acquire()
            granted = time.monotonic_ns()
            with self.mutex:
                self.found.latencies["acquire"].record(granted - start)
                self.found.operations += 1
                self.grants += 1
            lock.release()
            self.record(self.found, cycle=time.monotonic_ns() - start)


class Arrivals(Workload):
    """Arrivals by the clock, whatever became of those before; timed from the moment they were due. A pool of threads,
    one for each path, takes them in turn: when all are busy, an arrival waits, and its time counts."""

    def set_up(self):
        super().set_up()
        self.locks = [self.clients[0].Lock(f"{self.path}/{i}") for i in range(self.asked.number("paths"))]
        self.busy = [threading.Lock() for _ in self.locks]  # kazoo's object is for one attempt at a time
        self.arrive(200_000_000)

    def measure(self):
        return self.arrive(self.measured_ns())

    def arrive(self, ns):
        report = Report("acquire")
        interval = 1_000_000_000 // self.asked.number("arrivals_per_s")
        numbers = itertools.count()
        start = time.monotonic_ns()

        def serve():
            while True:
                k = next(numbers)
                if k * interval >= ns:
                    return
                due = start + k * interval
                sleep_until(due)
                with self.busy[k % len(self.locks)]:
                    lock = self.locks[k % len(self.locks)]
                    lock.acquire()
                    granted = time.monotonic_ns()
                    lock.release()
                with self.mutex:
                    report.latencies["acquire"].record(granted - due)
                    report.operations += 1

        for _ in self.locks:
            self.start(serve)
        self.join()
        report.elapsed_ns = time.monotonic_ns() - start
        return report


class Multitude(Workload):
    """Many threads wait for a lock that is held: what they cost (memory), and how quickly they are gone (cancel)."""

    def set_up(self):
        super().set_up()
        self.cancelling = self.asked.workload == "cancel"
        self.found = Report("cancel" if self.cancelling else "call")
        self.count = self.asked.number("waiters")
        self.locks = []
        self.cancelled = 0
        self.held = self.clients[0].Lock(self.path)
        self.held.acquire()
        if self.cancelling:
            self.start_waiters()

    def tear_down(self):
        self.cancel_all()
        self.held.release()
        super().tear_down()

    def measure(self):
        if self.cancelling:
            self.cancelled = time.monotonic_ns()
            self.found.figures["started_ns"] = self.cancelled
            self.cancel_all()
            self.found.elapsed_ns = time.monotonic_ns() - self.cancelled
        else:
            self.count_memory()
        return self.found

    def start_waiters(self):
        for _ in range(self.count):
            before = time.monotonic_ns()
            self.locks.append(self.clients[0].Lock(self.path))
            self.start(self.wait_in_vain, self.locks[-1])
            if not self.cancelling:
                self.record(self.found, call=time.monotonic_ns() - before)
        while self.clients[0].exists(self.path).children_count <= self.count:
            time.sleep(0.02)
        time.sleep(0.5)  # their last look at the queue, with the watch, may be under way

    def wait_in_vain(self, lock):
        try:
            lock.acquire()
        except CancelledError:
            if self.cancelling:
                with self.mutex:
                    self.found.latencies["cancel"].record(time.monotonic_ns() - self.cancelled)
                    self.found.operations += 1

    def cancel_all(self):
        for lock in self.locks:
            lock.cancel()
        self.locks.clear()
        self.join()

    def count_memory(self):
        resident, threads = process_status("VmRSS"), process_status("Threads")
        start = time.monotonic_ns()
        self.start_waiters()
        self.found.elapsed_ns = time.monotonic_ns() - start
        self.found.operations = self.count
        self.found.figures["resident_bytes_per_waiter"] = (process_status("VmRSS") - resident) * 1024 / self.count
        self.found.figures["more_threads"] = process_status("Threads") - threads


def process_status(name):
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return float(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {name}")


WORKLOADS = {"uncontended": Uncontended, "first": First, "handoff": Handoff, "crowd": Contenders,
             "independent": Contenders, "arrivals": Arrivals, "cancel": Multitude, "memory": Multitude}


def expect(word):
    line = sys.stdin.readline()
    if line.strip() != word:
        raise RuntimeError(f"expected {word}, not {line!r}")


def tell(line):
    print(line, flush=True)


def main():
    logging.basicConfig(level=logging.ERROR)
    while line := sys.stdin.readline():
        asked = Request(line)
        subject = (Apart if "processes" in asked.values else WORKLOADS[asked.workload])(asked)
        subject.set_up()
        tell("ready")
        expect("go")
        before = time.process_time_ns()
        found = subject.measure()
        found.figures["processor_us"] = (time.process_time_ns() - before) / 1e3
        tell(found.json())
        expect("end")
        subject.tear_down()
        tell("ended")


if __name__ == "__main__":
    status = 1
    try:
        main()
        status = 0
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)  # its threads may wait for a lock for ever
