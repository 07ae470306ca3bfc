"""What the workloads of kazoo have in common: what is asked, what is found, clients and threads."""
import collections
import json
import threading
import time

from kazoo.client import KazooClient

BITS = 11


class Histogram:
    """As driver/histogram.hpp: exact nanoseconds below 2048, then 1024 steps for each doubling."""

    def __init__(self):
        self.counts = collections.Counter()

    def record(self, ns):
        shift = max(ns.bit_length() - BITS, 0)
        self.counts[ns >> shift << shift] += 1


class Report:
    def __init__(self, *timed):
        self.operations = 0
        self.elapsed_ns = 0
        self.latencies = {name: Histogram() for name in timed}
        self.figures = {}

    def json(self):
        return json.dumps({
            "operations": self.operations, "seconds": self.elapsed_ns / 1e9,
            "latencies": {name: sorted(h.counts.items()) for name, h in self.latencies.items()},
            "figures": self.figures})


class Request:
    def __init__(self, line):
        self.workload, *words = line.split()
        self.values = dict(word.split("=", 1) for word in words)

    def text(self, name):
        return self.values[name]

    def number(self, name, otherwise=None):
        return int(self.values[name] if otherwise is None else self.values.get(name, otherwise))


class Workload:
    """Something to be measured, in three steps; its clients are connected, and its threads joined, here."""

    def __init__(self, asked):
        self.asked = asked
        self.path = asked.text("path")
        self.clients, self.threads, self.failures = [], [], []
        self.stopping = False
        self.found = Report()
        self.mutex = threading.Lock()

    def set_up(self):
        for _ in range(self.asked.number("sessions", 1)):
            client = KazooClient(hosts=self.asked.text("servers"), timeout=30)
            client.start(15)
            self.clients.append(client)

    def tear_down(self):
        self.stopping = True
        self.join()
        for client in self.clients:
            client.stop()
            client.close()

    def start(self, body, *arguments):
        def run():
            try:
                body(*arguments)
            except BaseException as thrown:  # told by join()
                self.failures.append(thrown)
        thread = threading.Thread(target=run)
        self.threads.append(thread)
        thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()
        self.threads.clear()
        if self.failures:
            raise self.failures[0]

    def record(self, report, **durations):
        with self.mutex:
            for name, ns in durations.items():
                report.latencies[name].record(ns)

    def measured_ns(self):
        return self.asked.number("ms") * 1_000_000

    def watch(self, *timed):
        """Lets the threads run for the time that is measured."""
        self.found = Report(*timed)
        start = time.monotonic_ns()
        sleep_until(start + self.measured_ns())
        with self.mutex:
            result, self.found = self.found, Report(*timed)
        result.elapsed_ns = time.monotonic_ns() - start
        return result


def sleep_until(ns):
    while (left := ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
