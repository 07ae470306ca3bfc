"""Order servers of a test, and what is asked of them over raw sockets. No test here waits for a time: it waits for
what it expects, under a limit that only a hang exceeds."""
import json
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

LIMIT = 60  # seconds


def fail(text):
    sys.exit(f"FAILED: {text}")


def check(condition, text):
    if not condition:
        fail(text)


def until(what, condition):
    """Asks again and again; what it asks waits for an answer itself."""
    deadline = time.monotonic() + LIMIT
    while True:
        found = condition()
        if found:
            return found
        check(time.monotonic() < deadline, "never: " + what)


class Shop:
    """A database, and the servers that share it. On leaving the block, those that still run are killed."""

    def __init__(self, program, schema, place, zookeeper):
        self.program, self.zookeeper, self.servers = program, zookeeper, []
        self.database = f"{place}/shop-{time.monotonic_ns()}.db"
        with open(schema, encoding="utf-8") as text, sqlite3.connect(self.database) as made:
            made.executescript(text.read() + "INSERT INTO stock (id, units) VALUES (1, 10);")
        made.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.process.kill()
            server.process.wait()

    def open(self, *arguments):
        self.servers.append(Server(self, arguments))
        return self.servers[-1]


class Server:
    def __init__(self, shop, arguments):
        where = [] if "--no-lock" in arguments else ["--servers", f"127.0.0.1:{shop.zookeeper}"]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", shop.program, "--database", shop.database, *where, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        line = self.process.stdout.readline()
        found = re.search(r" listening on 127\.0\.0\.1:(\d+)$", line.strip())
        check(found, f"a server said: {line!r}")
        self.port = int(found[1])
        self.address = f"http://127.0.0.1:{self.port}/"

    def connect(self, receive_buffer=None):
        s = socket.socket()
        if receive_buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        s.settimeout(LIMIT)
        s.connect(("127.0.0.1", self.port))
        return s

    def request(self, method, target, body=None, kind="application/json"):
        """The status and the body, as JSON if it is that. `kind`: what is sent, as Content-Type tells it."""
        sent = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        with self.connect() as s:
            s.sendall(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                      f"Content-Type: {kind}\r\nContent-Length: {len(sent.encode())}\r\n\r\n{sent}".encode())
            answer = b""
            while part := s.recv(65536):
                answer += part
        head, _, text = answer.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        return status, json.loads(text) if b"application/json" in head.lower() else text.decode()

    def order(self, buyer, **more):
        """Orders in a thread of its own; the result is there when it has been joined."""
        result = {}

        def work():
            result["status"], result["body"] = self.request("POST", "/orders", {"buyer": buyer, **more})

        thread = threading.Thread(target=work)
        thread.result = result
        thread.start()
        return thread

    def rush(self, lock):
        return self.request("POST", "/rush", {"lock": lock})

    def viewers(self):
        return self.request("GET", "/health")[1]["viewers"]

    def requests_of_zookeeper(self):
        return int(re.search(r"^zklock_requests_total (\d+)", self.request("GET", "/metrics")[1], re.M)[1])

    def end(self, how=signal.SIGTERM):
        """Ends it, which has to go well; gives how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(how)
        status = self.process.wait(LIMIT)
        check(status == 0, f"a server ended with status {status}")
        return time.monotonic() - began


class Events:
    """What a page is sent."""

    def __init__(self, server, receive_buffer=None):
        self.socket = server.connect(receive_buffer)
        self.buffer = b""
        self.bytes = 0
        self.ids = []
        self.socket.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        self.head = self.up_to(b"\r\n\r\n").decode().lower()

    def up_to(self, end):
        while end not in self.buffer:
            part = self.socket.recv(65536)
            if not part:
                return None
            self.bytes += len(part)
            self.buffer += part
        found, self.buffer = self.buffer.split(end, 1)
        return found

    def next(self):
        """The next state, or None at the end of the stream."""
        while True:
            event = self.up_to(b"\n\n")
            if event is None:
                return None
            fields = dict(line.split(": ", 1) for line in event.decode().split("\n") if not line.startswith(":"))
            if fields:
                check(fields["event"] == "state", f"an event is {fields}")
                self.ids.append(int(fields["id"]))
                return json.loads(fields["data"])

    def wait(self, what, condition):
        """The first state, from the next one on, that is as the condition wants it."""
        deadline = time.monotonic() + LIMIT
        while True:
            state = self.next()
            check(state is not None, f"the stream ended before: {what}")
            if condition(state):
                return state
            check(time.monotonic() < deadline, f"never: {what}; but {state}")

    def silent(self):
        """Whether nothing has come that was not read."""
        return not self.buffer and not select.select([self.socket], [], [], 0)[0]

    def close(self):
        self.socket.close()
