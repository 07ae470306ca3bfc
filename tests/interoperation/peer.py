"""A peer with a session of kazoo's; peer.hpp tells what it reads and notes.

peer.py NAME SERVERS SESSION_TIMEOUT_MS JOURNAL

Recipes: mutex (kazoo's own Lock), mutex+curator (the README's lock_beside_zklock, which heeds Curator's names, too),
curator (the README's LockBesideCurator, which calls its nodes as Curator does, but for the first characters), stock
(the README's LockOfStock, with a name of its own), mutex+stock (its lock_beside_stock, which heeds that name and bare
numbers), sale (a program with names that are the number alone, which finds its turn by the README's line), read, write,
semaphore (of `permits`), election.
"""
import logging
import os
import pathlib
import queue
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import CancelledError, LockTimeout
from kazoo.security import CREATOR_ALL_ACL

README = pathlib.Path(__file__).with_name("README.md")


class Journal:
    def __init__(self, name, file):
        self.name = name
        self.file = os.open(file, os.O_WRONLY | os.O_APPEND)

    def note(self, attempt, what, *words):
        line = " ".join((self.name, attempt, what, str(time.monotonic_ns()), *words))
        os.write(self.file, (line + "\n").encode())


def advised():
    """What the README tells users of kazoo to do."""
    names = {}
    for advice in README.read_text(encoding="utf-8").split("<!-- kazoo -->\n```python\n")[1:]:
        exec(compile(advice.split("```")[0], str(README), "exec"), names)
    return names


ADVISED = advised()


class Sale:
    """The usual sample: /PATH/0000000001 waits for the one before it."""

    def __init__(self, client, path):
        self.client, self.path = client, path
        self.node = None
        self.gone = threading.Event()
        self.cancelled = False

    def acquire(self, timeout=None):
        until = None if timeout is None else time.monotonic() + timeout
        self.node = self.client.create(self.path + "/", ephemeral=True, sequence=True)[len(self.path) + 1:]
        while True:
            self.gone.clear()
            if self.cancelled:  # not before that, or a cancellation could be cleared away
                break
            children = self.client.get_children(self.path)
            if ADVISED["first_of"](children) == self.node:
                return True
            before = ADVISED["before"](children, self.node)
            if self.client.exists(f"{self.path}/{before}", lambda event: self.gone.set()):
                if not self.gone.wait(None if until is None else max(0, until - time.monotonic())):
                    self.release()
                    raise LockTimeout()
        self.release()
        raise CancelledError()

    def cancel(self):
        self.cancelled = True
        self.gone.set()

    def release(self):
        self.client.delete(f"{self.path}/{self.node}")


def lock_of(client, recipe, path, options):
    if recipe == "mutex":
        return client.Lock(path)
    if recipe == "mutex+curator":
        return ADVISED["lock_beside_zklock"](client, path)
    if recipe == "curator":
        return ADVISED["LockBesideCurator"](client, path)
    if recipe == "mutex+stock":
        return ADVISED["lock_beside_stock"](client, path)
    if recipe == "stock":
        return ADVISED["LockOfStock"](client, path)
    if recipe == "sale":
        return Sale(client, path)
    if recipe == "read":
        return client.ReadLock(path)
    if recipe == "write":
        return client.WriteLock(path)
    if recipe == "semaphore":
        return client.Semaphore(path, max_leases=int(options["permits"]))
    raise ValueError(f"there is no recipe {recipe}")


class Attempt(threading.Thread):
    def __init__(self, client, journal, name, recipe, path, options):
        super().__init__(daemon=True)
        self.client, self.journal, self.name = client, journal, name
        self.recipe, self.path, self.options = recipe, path, options
        self.orders = queue.Queue()
        self.lock = None

    def note(self, what, *words):
        self.journal.note(self.name, what, *words)

    def run(self):
        try:
            for _ in range(int(self.options.get("times", 1))):
                self.turn()
            self.note("done")
        except BaseException as thrown:  # told to the test
            self.note("failed", repr(thrown).replace("\n", " "))

    def turn(self):
        if self.recipe == "election":
            election = self.client.Election(self.path)
            self.lock = election.lock
            election.run(self.hold, "exclusive")  # gives up silently when cancelled
            self.note("released")
            return
        self.lock = lock_of(self.client, self.recipe, self.path, self.options)
        wait = self.options.get("wait")
        try:
            granted = self.lock.acquire(timeout=None if wait is None else int(wait) / 1000)
        except LockTimeout:
            self.note("gave-up", "timed-out")
            return
        except CancelledError:
            self.note("gave-up", "cancelled")
            return
        if not granted:
            self.note("gave-up", "busy")
            return
        self.hold({"read": "shared", "semaphore": "1"}.get(self.recipe, "exclusive"))
        self.lock.release()
        self.note("released")

    def hold(self, kind):
        node = self.lock.create_path if self.recipe == "semaphore" else f"{self.path}/{self.lock.node}"
        self.note("granted", kind, node)
        if "hold" in self.options:
            time.sleep(int(self.options["hold"]) / 1000)
        else:
            self.orders.get()
        self.note("leaving")

    def cancel(self):
        self.lock.cancel()


def identity():
    """By SASL, if the test says so: see peer.hpp. Then the nodes are its own."""
    mechanism, _, details = os.environ.get("ZKLOCK_PEER_SASL", "").partition(" ")
    if not mechanism:
        return {}
    options = {"mechanism": mechanism}
    if mechanism == "DIGEST-MD5":
        options["username"], options["password"] = details.split()
    return {"sasl_options": options, "default_acl": CREATOR_ALL_ACL}


def main(name, servers, session_timeout_ms, file):
    logging.basicConfig(level=logging.ERROR)
    journal = Journal(name, file)
    soon = {"max_tries": -1, "delay": 0.02, "max_delay": 0.2}
    client = KazooClient(hosts=servers, timeout=int(session_timeout_ms) / 1000, connection_retry=soon,
                         command_retry=soon, **identity())
    client.start(60)
    journal.note("-", "ready")
    attempts = {}
    for line in sys.stdin:
        order, *words = line.split()
        if order == "quit":
            client.stop()
            client.close()
            return
        if order == "acquire":
            which, recipe, path, *options = words
            attempts[which] = Attempt(client, journal, which, recipe, path, dict(o.split("=", 1) for o in options))
            attempts[which].start()
        elif order == "release":
            attempts[words[0]].orders.put(order)
        elif order == "cancel":
            attempts[words[0]].cancel()
        else:
            raise ValueError(f"kazoo cannot {order}")


if __name__ == "__main__":
    main(*sys.argv[1:])
