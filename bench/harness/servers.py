"""The ZooKeeper servers that are measured on, and their packet counters."""
import logging
import os
import pathlib
import socket
import subprocess
import time


LINES = {"tls": 3, "outages": 2}  # that bench_servers begins with


class ServersError(Exception):
    """A server does not answer, or not as ZooKeeper does."""


class Servers:
    """Addresses of the members, the leader first. `own` ones are started here, and stopped by close(). `distant`: those
    of what stands before them, and takes its time, or counts."""

    def __init__(self, addresses, distant=(), secure=(), authority=None, process=None):
        self.addresses = list(addresses)
        self.distant = list(distant)
        self.secure = list(secure)  # the ports for TLS, with certificates of that authority
        self.authority = authority
        self.process = process
        self._start = time.monotonic()
        self._looks = 0
        # The counters count the look at them, too.
        before = self._received()
        self._per_look = self._received() - before

    @classmethod
    def start(cls, programs, members, one_way_us=None, special=None, folder=None):
        """`special`: tls or outages, for one server. `folder`: on a disk, for their data; otherwise they are in
        memory."""
        command = [programs / "bench_servers", str(members)] + ([str(one_way_us)] if one_way_us else [])
        command += ([special] if special else []) + ([f"data={folder}"] if folder else [])
        # An interrupt is not for them: they end with their input, and take their data with them.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   process_group=0)
        lines = [process.stdout.readline().split() for _ in range(LINES.get(special, 2 if one_way_us else 1))]
        if not lines[-1]:
            raise ServersError("the servers did not start")
        if special == "tls":
            addresses, secure, (authority,) = lines
            return cls(addresses, secure=secure, authority=authority, process=process)
        return cls(*lines, process=process)

    @classmethod
    def running(cls, addresses):
        """Somebody else's."""
        modes = {address: _mode(address) for address in addresses}
        return cls(sorted(addresses, key=lambda address: modes[address] != "leader"))

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def tell(self, word):
        """To a server that was started for outages. Returns its answer."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        if not (line := self.process.stdout.readline()):
            raise ServersError(f"the server did not {word}")
        return line.strip()

    def check(self):
        """Raises ServersError unless all of them answer."""
        self.requests()

    def requests(self):
        """How many the members have received from clients, without the looks of this function."""
        received = self._received()
        self._looks += 1
        ticks = (time.monotonic() - self._start) * self._ticks_per_s()
        return received - self._looks * self._per_look - ticks

    def processor_us(self):
        """What the members have used so far, of user and system time; None for somebody else's."""
        if not self.process:
            return None
        return sum(_processor_us(child) for child in _children(self.process.pid))

    def _ticks_per_s(self):
        """Of the ticker that bench_servers has for ensembles."""
        return 4 * len(self.addresses) if self.process and len(self.addresses) > 1 else 0

    def _received(self):
        return sum(int(_line(address, "Received: ")) for address in self.addresses)


def _children(parent):
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        if int(fields[1]) == parent:
            yield fields


def _processor_us(fields):
    """Of a process, by what its /proc/PID/stat says after the name."""
    return sum(map(int, fields[11:13])) * 1_000_000 / os.sysconf("SC_CLK_TCK")


def _mode(address):
    return _line(address, "Mode: ")


def _line(address, start):
    """What `srvr` says in the line that starts so. It is the one word that servers answer by default."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=10) as connection:
            connection.sendall(b"srvr")
            text = b"".join(iter(lambda: connection.recv(4096), b"")).decode(errors="replace")
    except OSError as error:
        raise ServersError(f"the server at {address} does not answer: {error}") from error
    for line in text.splitlines():
        if line.startswith(start):
            return line[len(start):]
    raise ServersError(f"the server at {address} does not tell '{start.strip()}': {text.strip()}")


class Clearance:
    """Of somebody else's servers: removes what the benchmark leaves there."""

    def __init__(self, addresses, root):
        Servers.running(addresses)  # which says at once, and of which one, that it does not answer
        from kazoo.client import KazooClient
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # what matters of it comes as an exception
        self._client = KazooClient(",".join(addresses))
        self._root = root
        try:
            self._client.start(timeout=10)
            self._keep = self._client.exists(root) is not None
        except Exception as error:
            self._client.stop()
            raise ServersError(f"no session with the servers at {','.join(addresses)}: {error}") from error

    def clear(self, paths):
        from kazoo.exceptions import NotEmptyError
        try:
            for path in paths:
                self._client.delete(path, recursive=True)
            if not self._keep:
                self._client.delete(self._root)
        except NotEmptyError:
            pass  # others use it by now
        except Exception as error:
            raise ServersError(f"nodes below {self._root} are left on the servers: {error!r}") from error
        finally:
            self._client.stop()
            self._client.close()
