"""The processes that measure: one for each system, and for each process of a load."""
import contextlib
import json
import os
import select
import subprocess

OURS = ("zklock", "zklock-direct")
PEERS = ("curator", "kazoo", "c-recipe")
SERVICES = ("etcd", "redis", "redis-fsync")  # with servers of their own
BECOME_FASTER = ("curator", "kazoo")  # as they run: their processes last as long as the benchmark
ON_ZOOKEEPER = ("raw", *OURS, *PEERS)
SYSTEMS = ON_ZOOKEEPER + SERVICES

# Of each: in which order who waits is served, what a fencing token can be made of, and what becomes of the locks when
# a server is lost.
BY_QUORUM = "yes, with 3 servers: what was granted stays granted"
PROMISES = {
    "zklock": ("of arrival", "a number with every grant", BY_QUORUM),
    "zklock-direct": ("of arrival", "a number with every grant", BY_QUORUM),
    "curator": ("of arrival", "none given", BY_QUORUM),
    "kazoo": ("of arrival", "none given", BY_QUORUM),
    "c-recipe": ("of arrival", "none given", BY_QUORUM),
    "etcd": ("of arrival", "the revision of the key", BY_QUORUM),
    "redis": ("none: who polls first", "none", "no: forgotten when the server ends, and granted again"),
    "redis-fsync": ("none: who polls first", "none", "no: nobody can lock until it is back; then it knows them"),
}


class DriverError(Exception):
    """A driver could not do what it was asked for."""


def command_of(system, programs, sources):
    return {
        "raw": [programs / "bench_raw"],
        "zklock": [programs / "bench_zklock"],
        "zklock-direct": [programs / "bench_zklock"],  # told so by scenarios.OF_SYSTEM
        "c-recipe": [programs / "bench_c_recipe"],
        "curator": ["java", "-Xmx2g", f"@{programs / 'curator' / 'classpath'}", "CuratorDriver"],
        "kazoo": ["/usr/bin/python3", "-B", sources / "kazoo" / "kazoo_driver.py"],
        "etcd": [programs / "bench_etcd"],
        "redis": [programs / "bench_redis"],
        "redis-fsync": [programs / "bench_redis"],
    }[system]


class Driver:
    """Speaks with one process. A measurement is set_up, measure (start and result), tear_down. Each can be done in
    parts, for processes that are to do it at the same time."""

    LIMIT_S = 180  # longer than any step takes, unless it hangs
    PATIENCE_S = 5  # after that it is looked whether there is anybody to measure

    def __init__(self, system, programs, sources, check_servers, command=None):
        self.system = system
        self._check_servers = check_servers
        self._command = command or command_of(system, programs, sources)
        self._process = None

    def set_up(self, workload, values):
        self.ask(workload, values)
        self.get_ready()

    def ask(self, workload, values):
        if not self._process:
            # An interrupt of ours is not for it (nor is a session of its own: the system would share out processors by
            # sessions, and nothing would gather): it ends with its input, or is killed.
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                             process_group=0)
        self._say(" ".join([workload] + [f"{name}={value}" for name, value in values.items()]))

    def run_on(self, processors):
        """Its threads, and those that they make from now on."""
        told = set()
        while threads := self.threads() - told:  # until none was made meanwhile
            for thread in threads:
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.sched_setaffinity(thread, processors)
            told |= threads

    def threads(self):
        if self._process:
            with contextlib.suppress(FileNotFoundError):
                return {int(thread) for thread in os.listdir(f"/proc/{self._process.pid}/task")}
        return set()

    def get_ready(self):
        self._expect("ready")

    def start_measuring(self):
        self._say("go")

    def result(self):
        return json.loads(self._hear())

    def measure(self):
        self.start_measuring()
        return self.result()

    def tear_down(self):
        self.end()
        self.get_ended()

    def end(self):
        self._say("end")

    def get_ended(self):
        self._expect("ended")

    def close(self):
        if not self._process:
            return
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self):
        """Whatever it is doing."""
        if self._process:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _say(self, line):
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail("ended")

    def _hear(self):
        for _ in range(self.LIMIT_S // self.PATIENCE_S):
            if select.select([self._process.stdout], [], [], self.PATIENCE_S)[0]:
                break
            self._check_servers()
        else:
            self._fail(f"did not answer within {self.LIMIT_S} s")
        line = self._process.stdout.readline()
        if not line:
            self._fail("ended")
        return line.strip()

    def _expect(self, word):
        if (line := self._hear()) != word:
            self._fail(f"said {line!r}, not {word}")

    def _fail(self, what):
        self.kill()  # the next measurement starts a new one
        raise DriverError(f"the driver of {self.system} {what}")
