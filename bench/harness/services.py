"""What one would take instead of ZooKeeper, each with servers of its own: etcd and Redis."""
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request

from data import Scratch
from servers import ServersError

START_S = 30
ATTEMPTS = 3  # somebody else may take a port between the look and the server's bind

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Service:
    """Some processes with a folder. `addresses`: of the members, the leader first."""

    def __init__(self, place):
        self._place = place
        self._processes = []
        self.addresses = []
        for attempt in range(1, ATTEMPTS + 1):
            self._scratch = Scratch(place.base)
            try:
                self._start()
                return
            except ServersError:
                self.close()
                if attempt == ATTEMPTS:
                    raise
            except BaseException:
                self.close()
                raise

    def _spawn(self, name, command, environment=None):
        """It dies with this process (setpriv), and an interrupt of ours is not for it."""
        with open(self._scratch.path / f"{name}.log", "wb") as log:
            self._processes.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command], cwd=self._scratch.path, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0))

    def _wait_until(self, serves):
        limit = time.monotonic() + START_S
        while not serves():
            self.check()
            if time.monotonic() > limit:
                raise ServersError(f"{self.name} does not serve within {START_S} s: {self._logs()}")
            time.sleep(0.05)

    def _logs(self):
        texts = [path.read_text(errors="replace")[-500:] for path in sorted(self._scratch.path.glob("*.log"))]
        return " | ".join(texts).strip()

    def check(self):
        """Raises ServersError unless all of them run."""
        for process in self._processes:
            if process.poll() is not None:
                raise ServersError(f"a server of {self.name} has ended: {self._logs()}")

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()
        self._scratch.remove()


class Etcd(Service):
    name = "etcd"

    def __init__(self, place, members):
        self._members = members
        super().__init__(place)

    def _start(self):
        ports = free_ports(2 * self._members)
        clients, peers = ports[:self._members], ports[self._members:]
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        for i, (client, peer) in enumerate(zip(clients, peers)):
            self._spawn(f"m{i}", [
                "etcd", "--name", f"m{i}", "--data-dir", f"m{i}", "--logger", "zap", "--log-level", "error",
                "--listen-client-urls", f"http://127.0.0.1:{client}",
                "--advertise-client-urls", f"http://127.0.0.1:{client}",
                "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                "--initial-cluster", cluster, "--initial-cluster-state", "new"], environment)
        addresses = [f"127.0.0.1:{port}" for port in clients]
        self._wait_until(lambda: all(map(self._healthy, addresses)))
        self.addresses = sorted(addresses, key=lambda address: not self._leads(address))

    def _healthy(self, address):
        try:
            return json.loads(_ask(f"http://{address}/health"))["health"] == "true"
        except (ServersError, ValueError):
            return False

    def _leads(self, address):
        status = json.loads(_ask(f"http://{address}/v3/maintenance/status", b"{}"))
        return status["leader"] == status["header"]["member_id"]

    def requests(self):
        """Messages that clients have sent, those of streams (watches, leases) among them."""
        texts = [_ask(f"http://{address}/metrics") for address in self.addresses]
        return sum(float(value) for text in texts
                   for value in re.findall(r"^grpc_server_msg_received_total\{.*\} (\S+)$", text, re.MULTILINE))


def _ask(url, body=None):
    try:
        with _direct.open(urllib.request.Request(url, data=body), timeout=10) as answer:
            return answer.read().decode()
    except OSError as error:
        raise ServersError(f"{url}: {error}") from error


class Redis(Service):
    """One server. `durable`: it answers when what was written is on the disk."""

    name = "redis"

    def __init__(self, place, durable):
        self._durable = durable
        super().__init__(place)

    def _start(self):
        port, = free_ports(1)
        self._spawn("redis", ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "",
                              "--appendonly", "yes" if self._durable else "no", "--appendfsync", "always"])
        self.addresses = [f"127.0.0.1:{port}"]
        self._wait_until(self._answers)

    def _answers(self):
        try:
            return self._command("PING").startswith("+PONG")
        except OSError:
            return False

    def _command(self, line):
        host, port = self.addresses[0].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"{line}\r\nQUIT\r\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def requests(self):
        """Calls of the two commands that a lock consists of."""
        try:
            text = self._command("INFO commandstats")
        except OSError as error:
            raise ServersError(f"the server of redis does not answer: {error}") from error
        return sum(map(int, re.findall(r"^cmdstat_(?:set|evalsha):calls=(\d+)", text, re.MULTILINE)))


STARTERS = {
    "etcd": Etcd,
    "redis": lambda place, members: Redis(place, durable=False),
    "redis-fsync": lambda place, members: Redis(place, durable=True),
}


def missing(system, programs):
    """What keeps a system from being measured, or None."""
    server, driver, packages = {
        "etcd": ("etcd", "bench_etcd", "etcd-server, golang-go and golang-etcd-server-dev"),
        "redis": ("redis-server", "bench_redis", "redis-server and libhiredis-dev"),
        "redis-fsync": ("redis-server", "bench_redis", "redis-server and libhiredis-dev"),
    }[system]
    if not shutil.which(server) or not (programs / driver).exists():
        return f"it takes Debian's packages {packages}, before the programs are built"
    return None
