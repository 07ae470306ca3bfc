"""The ZooKeeper servers that are measured on, and their packet counters."""
import socket
import subprocess
import time


class Servers:
    """Addresses of the members, the leader first. `own` ones are started here, and stopped by close()."""

    def __init__(self, addresses, distant=(), process=None):
        self.addresses = list(addresses)
        self.distant = list(distant)
        self.process = process
        self._start = time.monotonic()
        self._looks = 0
        # The counters count the look at them, too.
        before = self._received()
        self._per_look = self._received() - before

    @classmethod
    def start(cls, programs, members, one_way_us=None):
        command = [programs / "bench_servers", str(members)] + ([str(one_way_us)] if one_way_us else [])
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = [process.stdout.readline().split() for _ in range(2 if one_way_us else 1)]
        if not lines[-1]:
            raise RuntimeError("the servers did not start")
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

    def requests(self):
        """How many the members have received from clients, without the looks of this function."""
        received = self._received()
        self._looks += 1
        ticks = (time.monotonic() - self._start) * self._ticks_per_s()
        return received - self._looks * self._per_look - ticks

    def _ticks_per_s(self):
        """Of the ticker that bench_servers has for ensembles."""
        return 4 * len(self.addresses) if self.process and len(self.addresses) > 1 else 0

    def _received(self):
        return sum(int(_line(address, "Received: ")) for address in self.addresses)


def _mode(address):
    return _line(address, "Mode: ")


def _line(address, start):
    """What `srvr` says in the line that starts so. It is the one word that servers answer by default."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=10) as connection:
        connection.sendall(b"srvr")
        text = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    for line in text.splitlines():
        if line.startswith(start):
            return line[len(start):]
    raise RuntimeError(f"the server at {address} does not tell '{start.strip()}': {text.strip()}")
