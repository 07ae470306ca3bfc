"""What an order server makes of HTTP, over raw sockets: python3 order_server_http.py ORDER_SERVER STOCK_SQL"""
import json
import sqlite3
import sys
import tempfile

from shop import Events, Shop, check

program, schema = sys.argv[1:]


def answer(stream):
    """The status and the header's fields, of the next answer on a connection."""
    status = int(stream.readline().split()[1])
    fields = {}
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    return status, fields


def ask(server, head, body=b""):
    """Status, fields, and all that comes after them until the server hangs up."""
    with server.connect() as s, s.makefile("rb") as stream:
        s.sendall(head.encode() + b"\r\nConnection: close\r\n\r\n" + body)
        return *answer(stream), stream.read()


def under_its_own_names_only(server):
    order = b'{"buyer":"Ada"}'
    post = f"POST {{}} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(order)}"
    port = server.port
    for host in ("rebound.example", f"rebound.example:{port}", "localhost.rebound.example", "127.0.0.1.rebound.example",
                 "127.0.0.1:80.rebound.example", "[::1].rebound.example", "127.1", "x", ""):
        for line in "GET / HTTP/1.1", "GET /events HTTP/1.1", post.format("/orders"), post.format("/rush"):
            status, _, body = ask(server, f"{line}\r\nHost: {host}", order if "POST" in line else b"")
            check(status == 421 and "Host" in json.loads(body)["error"], f"{line} of {host}: {status} {body[:200]}")
    check(ask(server, "GET / HTTP/1.1")[0] == 421, "a request without a Host")
    check(server.request("GET", "/report")[1]["sold"] == 0, "something was sold")
    for name in "localhost", "LocalHost", "127.0.0.1", "[::1]", "192.0.2.7", "shop.example", "SHOP.example", "other":
        for host in name, f"{name}:{port}":
            status, _, body = ask(server, f"GET / HTTP/1.1\r\nHost: {host}")
            check(status == 200 and b"<title>Flash sale" in body, f"{host}: {status} {body[:200]}")


def head_is_get_without_the_body(server):
    for target, status in ("/", 200), ("/report", 200), ("/nothing", 404), ("/orders", 405):
        got, whole = (ask(server, f"{method} {target} HTTP/1.1\r\nHost: localhost") for method in ("GET", "HEAD"))
        check(got[:2] == whole[:2] and got[0] == status, f"{target}: {got[:2]}, {whole[:2]}")
        check(int(whole[1]["content-length"]) == len(got[2]) and whole[2] == b"", f"HEAD {target}: {whole}")
    status, fields, rest = ask(server, "HEAD /events HTTP/1.1\r\nHost: localhost")
    check((status, fields["content-type"], rest) == (200, "text/event-stream", b""), f"{status} {fields} {rest}")
    with server.connect() as s, s.makefile("rb") as stream:  # the next answer begins where this one ends
        for _ in range(2):
            s.sendall(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            check(answer(stream)[0] == 200, "no answer to HEAD")
        s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        check(answer(stream)[0] == 200, "no answer to GET after HEAD")


def a_query_is_ignored(server):
    for target in "/health?", "/health?x=1&y=/nothing", "/health??":
        check(server.request("GET", target)[0] == 200, target)
    check(b"<title>Flash sale" in ask(server, "GET /?utm_source=x HTTP/1.1\r\nHost: localhost")[2], "no page")
    check(server.request("GET", "/nothing?/health")[0] == 404, "a query is taken for a path")


def who_waits_to_be_told_to_go_on_is(server):
    order = b'{"buyer":"Ada","lock":false}'
    head = ("POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Expect: 100-Continue\r\nContent-Length: {}\r\n\r\n")
    with server.connect() as s, s.makefile("rb") as stream:
        for _ in range(2):
            s.sendall(head.format(len(order)).encode())
            status, fields = answer(stream)
            check((status, fields) == (100, {}), f"it was told {status} {fields}")
            s.sendall(order)
            status, fields = answer(stream)
            check(status == 201, f"the order: {status}")
            check(json.loads(stream.read(int(fields["content-length"])))["buyer"] == "Ada", "another's order")
        s.sendall(head.format(20_000).encode())  # which it will not read
        check(answer(stream)[0] == 413, "it wants to read what is too long")
    with server.connect() as s, s.makefile("rb") as stream:  # a client of HTTP/1.0 knows of no 100
        s.sendall(head.replace("HTTP/1.1", "HTTP/1.0").format(len(order)).encode() + order)
        check(answer(stream)[0] == 201, "HTTP/1.0 is told something else before the answer")


def the_whole_address_is_a_target(server):
    for target in f"http://localhost:{server.port}/health", "HTTP://shop.example/health?x", "http://127.0.0.1/health":
        status, _, body = ask(server, f"GET {target} HTTP/1.1\r\nHost: rebound.example")
        check(status == 200, f"{target}: {status} {body[:200]}")
    for target in "http://localhost", "http://localhost?x":
        check(b"<title>Flash sale" in ask(server, f"GET {target} HTTP/1.1\r\nHost: localhost")[2], target)
    for target in "http://rebound.example/health", "http://x@localhost/health", "http:///health":
        status = ask(server, f"GET {target} HTTP/1.1\r\nHost: localhost")[0]
        check(status == 421, f"{target}: {status}")


def foreign_bytes_come_as_json(shop, server):
    foreign = ("41ff42", "41e282", "c3", "f4908080", "eda080", "80")
    with sqlite3.connect(shop.database) as database:
        for value in foreign:
            database.execute(f"INSERT INTO orders (buyer, server, stock_read, waited_ms)"
                             f" VALUES (CAST(X'{value}' AS TEXT), CAST(X'c3a9{value}' AS TEXT), 1, 0)")
    database.close()
    _, _, report = ask(server, "GET /report HTTP/1.1\r\nHost: localhost")
    orders = json.loads(report.decode())["orders"]  # both are strict
    for order in orders[-len(foreign):]:
        check("\ufffd" in order["buyer"] and order["server"].startswith("é"), order)
    _, _, health = ask(server, "GET /health HTTP/1.1\r\nHost: localhost")
    check(json.loads(health.decode())["server"] == "A\ufffd", health)
    events = Events(server)
    events.wait("the foreign orders", lambda s: s["server"] == "A\ufffd"
                and sum("\ufffd" in o["buyer"] for o in s["orders"]) == len(foreign))
    events.close()


with tempfile.TemporaryDirectory() as place, Shop(program, schema, place, None) as shop:
    server = shop.open("--no-lock", "--payment", "1", "--name", b"A\xff", "--host", "shop.example", "--host", "other")
    for test in under_its_own_names_only, head_is_get_without_the_body, a_query_is_ignored, \
            who_waits_to_be_told_to_go_on_is, the_whole_address_is_a_target:
        print(test.__name__.replace("_", " "), flush=True)
        test(server)
    print("foreign bytes come as JSON", flush=True)
    foreign_bytes_come_as_json(shop, server)
    server.end()
