"""What the page is sent, over raw sockets: python3 page_events.py ORDER_SERVER STOCK_SQL SCRATCH ZOOKEEPER_PORT"""
import signal
import sys

from shop import Events, Shop, check, until

program, schema, scratch, zookeeper = sys.argv[1:]
paths = iter(range(1000))


def open_shop():
    return Shop(program, schema, scratch, zookeeper)


def path():
    return "--path", f"/page/{next(paths)}"


def names(state):
    return state["queue"] and [c["buyer"] for c in state["queue"]["first"]]


def ended(state):
    return state["rush"] and state["rush"]["ended"] and not state["rush"]["under_way"]


def a_stream_shows_who_holds_and_who_waits():
    lock = path()
    with open_shop() as shop:
        a = shop.open("--name", "A", "--payment", "60000", "--lock-timeout", "600000", *lock)
        b = shop.open("--name", "B", "--payment", "1", "--lock-timeout", "600000", *lock)
        on_a, on_b = Events(a), Events(b)
        check("200 ok" in on_a.head and "text/event-stream" in on_a.head, on_a.head)
        check("content-length" not in on_a.head and "connection: close" in on_a.head, on_a.head)
        first = on_a.wait("a free lock", lambda s: s["queue"] == {"length": 0, "first": []})
        check(first["units"] == 10 and first["sold"] == 0 and first["orders"] == [] and first["rush"] is None, first)
        check(first["connection"] == "connected" and first["lock"] is True and first["failure"] == "", first)

        # Each in its turn, so that who comes first is known. All servers show the same.
        ada = a.order("Ada")
        on_a.wait("Ada holds", lambda s: names(s) == ["Ada"])
        ben = b.order("Ben")
        for events in on_a, on_b:
            seen = events.wait("Ben waits", lambda s: names(s) == ["Ada", "Ben"])
            check([c["server"] for c in seen["queue"]["first"]] == ["A", "B"], seen)
        cleo = a.order("<b>Cleo</b>")
        on_b.wait("Cleo waits", lambda s: names(s) == ["Ada", "Ben", "<b>Cleo</b>"])

        # A ends in a hurry: who waited there is told, the stream ends, and Ben has the lock.
        a.end(signal.SIGINT)
        while on_a.next():
            pass
        for order in ada, cleo:
            order.join()
            check(order.result["status"] == 503, order.result)
        ben.join()
        check(ben.result["status"] == 201, ben.result)
        sold = on_b.wait("Ben's order", lambda s: s["sold"] == 1 and names(s) == [])
        check(sold["units"] == 9 and sold["orders"][0]["buyer"] == "Ben" and sold["orders"][0]["token"] > 0, sold)
        b.end()


def all_who_look_share_one_reading():
    with open_shop() as shop:
        server = shop.open("--payment", "1", *path())
        first = Events(server)
        first.wait("a free lock", lambda s: s["queue"] is not None)
        before = server.requests_of_zookeeper()
        crowd = [Events(server) for _ in range(40)]
        for events in crowd:
            events.wait("a free lock", lambda s: s["queue"] is not None)
        check(server.viewers() == 41, f"{server.viewers()} viewers")
        order = server.order("Ada")
        for events in [first] + crowd:
            events.wait("Ada's order", lambda s: s["sold"] == 1 and s["queue"]["length"] == 0)
        order.join()
        # The order and its lock, a few looks, heartbeats: were each read for, there would be hundreds.
        spent = server.requests_of_zookeeper() - before
        check(spent < 40, f"{spent} requests for 41 who look")
        check(len({events.ids[-1] for events in crowd}) == 1, "they were sent different states")

        # Whoever hangs up is gone, and nobody reads any more when nobody looks.
        for events in [first] + crowd:
            events.close()
        until("nobody looks", lambda: server.viewers() == 0)
        again = Events(server)
        again.wait("a state, for one who comes later", lambda s: s["sold"] == 1 and s["queue"] is not None)
        server.end()
        check(again.next() is None, "an event after the end")


def whoever_is_slow_is_sent_the_newest():
    with open_shop() as shop:
        server = shop.open("--payment", "8", "--rush-buyers", "300", "--rush-stock", "300", "--lock-timeout", "60000",
                           *path())
        slow, fast = Events(server, receive_buffer=4096), Events(server)
        fast.wait("a free lock", lambda s: s["queue"] is not None)
        check(server.rush(True)[0] == 202, "no rush")
        # It takes nothing while the others are sent much more than the system keeps for it.
        before = fast.bytes
        fast.wait("many states", lambda s: fast.bytes - before > 200_000 or ended(s))
        check(fast.bytes - before > 100_000, f"only {fast.bytes - before} bytes")
        last = slow.wait("the end of the rush", ended)
        if fast.ids[-1] < slow.ids[-1]:
            fast.wait("the end of the rush", ended)
        check(last["sold"] == 300 and last["units"] == 0, last)
        check(slow.ids == sorted(set(slow.ids)), "an older state after a newer one")
        missed = [i for i in fast.ids if i < slow.ids[-1] and i not in slow.ids]
        check(len(missed) > 10, f"{len(missed)} left out of {len(fast.ids)}")
        server.end()


def the_end_does_not_wait_for_those_who_look():
    with open_shop() as shop:
        server = shop.open("--payment", "8", "--rush-buyers", "300", "--rush-stock", "300", "--lock-timeout", "60000",
                           *path())
        idle, stalled, fast = Events(server), Events(server, receive_buffer=4096), Events(server)
        check(server.rush(True)[0] == 202, "no rush")
        fast.wait("many states", lambda s: fast.bytes > 200_000 or ended(s))
        took = server.end(signal.SIGINT)
        check(took < 25, f"the end took {took:.1f} s, with one who takes nothing")
        for events in idle, fast:
            while events.next():
                pass
        stalled.close()


def one_rush_at_a_time():
    lock = path()
    with open_shop() as shop:
        a = shop.open("--name", "A", "--payment", "60000", "--lock-timeout", "600000", *lock)
        b = shop.open("--name", "B", "--payment", "30", *lock)
        on_b = Events(b)
        for body in "", "[]", "{}", '{"lock": 1}', '{"lock": null}':
            check(a.request("POST", "/rush", body)[0] == 400, f"a rush of {body}")
        check(a.request("GET", "/rush")[0] == 405, "GET /rush")
        status, answer = a.rush(True)
        check((status, answer) == (202, {"rush": 1}), answer)
        for server in a, b, a:
            check(server.rush(False) == (409, {"error": "a rush is under way"}), "a second rush")
        # Of B's buyers some may have been served before the first of A's, who stays for long.
        seen = on_b.wait("the rush", lambda s: s["rush"] and s["rush"]["under_way"] and s["queue"]["first"] and
                         s["queue"]["first"][0]["server"] == "A")
        check(seen["rush"] == {"id": 1, "with_lock": True, "buyers": 15, "units": 10, "oversold": 0,
                               "under_way": True, "ended": False}, seen)

        # It ends with its server, and is not counted; the other one may begin another.
        a.end(signal.SIGINT)
        broken = on_b.wait("the end of it", lambda s: not s["rush"]["under_way"] and s["queue"]["length"] == 0)
        check(not broken["rush"]["ended"] and broken["last"] == {"with_lock": None, "without_lock": None}, broken)
        b.end()


def rushes_through_two_servers():
    lock = path()
    with open_shop() as shop:
        a = shop.open("--name", "A", "--payment", "200", *lock)
        b = shop.open("--name", "B", "--payment", "200", *lock)
        on_a, on_b = Events(a), Events(b)

        for number in range(1, 6): # all of whom read the same stock, but on a machine that is very busy
            check(a.rush(False)[0] == 202, "no rush without the lock")
            for events in on_a, on_b:
                careless = events.wait("the end of it", lambda s: ended(s) and s["rush"]["id"] == number)
            if careless["rush"]["oversold"]:
                break
        without = careless["last"]["without_lock"]
        check(careless["rush"]["oversold"] > 0 and without["oversold"] == careless["sold"] - 10, careless)
        check(without["left_over"] == careless["units"] > 10 - careless["sold"], careless)
        check({o["server"] for o in careless["orders"]} == {"A", "B"}, careless)
        check(not any("token" in o for o in careless["orders"]), careless)

        check(b.rush(True)[0] == 202, "no rush with the lock")
        held_by, longest = set(), 0
        while True:
            state = on_a.wait("a state of the rush", lambda s: s["rush"]["id"] == number + 1)
            check(state["rush"]["oversold"] == 0, state)
            if state["queue"]["length"]:
                held_by.add((state["queue"]["first"][0]["buyer"], state["queue"]["first"][0]["server"]))
                longest = max(longest, state["queue"]["length"])
            if ended(state):
                break
        check(len(held_by) > 1 and {server for _, server in held_by} <= {"A", "B"}, held_by)
        check(longest > 2, f"{longest} in line")
        check((state["sold"], state["units"]) == (10, 0), state)
        check(state["last"]["with_lock"] == {"rush": number + 1, "buyers": 15, "units": 10, "sold": 10, "oversold": 0,
                                             "left_over": 0, "unanswered": 0}, state)
        check(state["last"]["without_lock"] == without, state)
        tokens = [o["token"] for o in state["orders"]]
        check([o["stock_read"] for o in state["orders"]] == list(range(10, 0, -1)), state)
        check(tokens == sorted(set(tokens)), state)
        a.end()

        # The buyers of a server that is closed go to the others.
        check(b.rush(True)[0] == 202, "no rush through one server")
        alone = on_b.wait("the end of it", lambda s: ended(s) and s["rush"]["id"] == number + 2)
        check(alone["sold"] == 10 and {o["server"] for o in alone["orders"]} == {"B"}, alone)
        check(alone["last"]["with_lock"]["unanswered"] == 0, alone)
        b.end()


def an_order_of_a_rush_that_another_has_followed():
    lock = path()
    with open_shop() as shop:
        slow = shop.open("--name", "A", "--payment", "2000", *lock)
        fast = shop.open("--name", "B", "--payment", "1", "--rush-buyers", "2", *lock)
        for number in "1", 0, -1, 1.5, None:
            status, answer = fast.request("POST", "/orders", {"buyer": "Ada", "rush": number})
            check(status == 400, f"an order of rush {number}: {answer}")
        seen = Events(fast)

        def rush(number):
            check(fast.rush(False) == (202, {"rush": number}), f"no rush {number}")

        # Late waits, or pays, while the rush is broken off and another one begins.
        late, number = None, 1
        rush(1)
        seen.wait("the end of it", ended)
        for number in range(2, 7):  # on a machine that is very busy, it may have paid before
            late = slow.order("Late", rush=number - 1)
            seen.wait("Late holds", lambda s: names(s) == ["Late"])
            rush(number)
            in_time = late.is_alive()
            state = seen.wait("the end of it", lambda s: ended(s) and s["rush"]["id"] == number)
            late.join()
            if in_time:
                break
        check(late.result["status"] == 410 and "another rush" in late.result["body"]["outcome"], late.result)
        early = fast.request("POST", "/orders", {"buyer": "Early", "rush": number - 1})
        check(early[0] == 410, early)
        report = fast.request("GET", "/report")[1]
        check({o["buyer"] for o in report["orders"]} == {"Ada", "Ben"} and state["sold"] == 2, report)
        check(report["units"] == state["units"], report)
        status, answer = fast.request("POST", "/orders", {"buyer": "Cleo", "rush": number})
        check((status, answer["stock_written"]) == (201, state["units"] - 1), answer)
        slow.end()
        fast.end()


def a_server_without_the_lock():
    with open_shop() as shop:
        server = shop.open("--no-lock", "--payment", "30", "--rush-buyers", "4", "--rush-stock", "7")
        events = Events(server)
        first = events.wait("a state", lambda s: True)
        check(first["lock"] is False and first["queue"] is None and "connection" not in first, first)
        check((first["rush_buyers"], first["rush_units"]) == (4, 7), first)
        check(server.rush(True)[0] == 400, "a rush with a lock that is not there")
        check(server.rush(False)[0] == 202, "no rush")
        last = events.wait("the end of it", ended)
        check(last["sold"] == 4 and last["rush"]["oversold"] == 0 and last["rush"]["units"] == 7, last)
        server.end()


tests = [a_stream_shows_who_holds_and_who_waits, all_who_look_share_one_reading, whoever_is_slow_is_sent_the_newest,
         the_end_does_not_wait_for_those_who_look, one_rush_at_a_time, rushes_through_two_servers,
         an_order_of_a_rush_that_another_has_followed, a_server_without_the_lock]
for test in tests:
    print(test.__name__.replace("_", " "), flush=True)
    test()
