"""The page in a browser: python3 page_browser.py ORDER_SERVER STOCK_SQL SCRATCH ZOOKEEPER_PORT"""
import http.server
import json
import sys
import threading

import browser
from shop import LIMIT, Shop, check

program, schema, scratch, zookeeper = sys.argv[1:]

# What is not as it should be in the layout: text that is cut off or hard to read, buttons too small for a thumb, a page
# that has to be pushed sideways.
FAULTS = """(() => {
  const faults = [];
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = c => c / 255 <= .03928 ? c / 255 / 12.92 : ((c / 255 + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3]) return c;
    }
    return [255, 255, 255];
  };
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) faults.push(`wide: ${page.scrollWidth} in ${page.clientWidth}`);
  for (const b of document.querySelectorAll("button")) {
    const box = b.getBoundingClientRect();
    if (box.height < 44 || box.width < 120) faults.push(`${b.id} is ${box.width} x ${box.height}`);
  }
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, words = walk.currentNode.data.trim();
    if (!words || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline") faults.push(`cut: ${words}`);
    if (e.disabled) continue;
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(1)}: ${words}`);
  }
  return faults;
})()"""
RED = "(c => c[0] > 1.5 * c[1] && c[0] > 1.5 * c[2])(getComputedStyle({}).color.match(/[\\d.]+/g).map(Number))"


def figures(tab):
    return tab.ask("['units', 'count', 'oversold'].map(id => document.querySelector(`#${id} dd`).textContent)")


def words(tab, selector):
    return tab.ask(f"document.querySelector({json.dumps(selector)}).textContent.trim()")


def looks_well(tab, name):
    for width, height in (320, 640), (390, 844), (800, 600), (1280, 800):
        for dark in False, True:
            tab.look(width, height, dark)
            faults = tab.ask(FAULTS)
            check(not faults, f"{name}, {width} wide, {'dark' if dark else 'light'}: {faults}")
            tab.picture(f"{name}-{width}-{'dark' if dark else 'light'}")


def steady(tab):
    shifts = tab.ask("shifts")
    check(not shifts, f"the layout has moved: {shifts}")


class Stranger(http.server.ThreadingHTTPServer):
    """Somebody else at that port, who knows of no page."""

    class Refusal(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503)
            self.server.asked.set()

        def log_message(self, *_):
            pass

    def __init__(self, port):
        self.asked = threading.Event()
        super().__init__(("127.0.0.1", port), self.Refusal)
        self.thread = threading.Thread(target=self.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


def over(number):
    return f"document.body.dataset.rush == {number} && document.body.dataset.underWay === 'no'"


with Shop(program, schema, scratch, zookeeper) as shop, browser.Browser(browser.find(), scratch) as chromium:
    lock = "--path", "/page/browser", "--payment", "300"
    a, b = shop.open("--name", "A", *lock), shop.open("--name", "B", *lock)
    phone = chromium.open(a.address, 390, 844, dark=True)
    desk = chromium.open(b.address, 1280, 800)

    print("what it shows at first")
    for tab in phone, desk:
        tab.wait("document.body.dataset.live === 'yes'")
        tab.wait("document.querySelector('#holder strong').textContent === 'free'")
        check(figures(tab) == ["10", "0", "0"], figures(tab))
        check(words(tab, "#verdict") == "A rush: 15 buyers at once, for 10 units.", words(tab, "#verdict"))
        check(words(tab, "#careless-result") == words(tab, "#locked-result") == "not tried yet", "results")
        steady(tab)
    check(words(desk, "#server") == "server B", words(desk, "#server"))
    looks_well(desk, "first")
    desk.look(1280, 800, False)

    print("a rush without the lock, started with a click on one page, and seen on both")
    for number in range(1, 6):  # all of whom read the same stock, but on a machine that is very busy
        phone.click("#careless")
        for tab in phone, desk:
            tab.wait(over(number))
        if figures(phone)[2] != "0":
            break
    for tab in phone, desk:
        _, sold, oversold = figures(tab)
        check(int(oversold) > 0 and int(sold) == 10 + int(oversold), figures(tab))
        check(tab.ask(RED.format("document.querySelector('#oversold dd')")), "what was oversold is not red")
        check(tab.ask(RED.format("document.querySelector('#verdict')")), "the verdict is not red")
        check("sold that do" in words(tab, "#verdict"), words(tab, "#verdict"))
        check(tab.ask("document.querySelectorAll('#orders .twice').length") > 1, "no unit was sold twice")
        check(words(tab, "#careless-result") == f"{sold} sold of 10,\n{oversold} too many", "its result")
    looks_well(phone, "without")
    phone.look(390, 844, True)

    print("a rush with the lock")
    for tab in phone, desk:
        tab.ask("""window.seen = { holders: [], waiting: 0, disabled: 0, red: 0 }; window.shifts.length = 0;
            new MutationObserver(() => {
              const name = document.querySelector("#holder strong").textContent;
              if (document.querySelector("#holder.held") && !seen.holders.includes(name)) seen.holders.push(name);
              seen.waiting = Math.max(seen.waiting, document.querySelectorAll("#queue .taken").length);
              if (document.body.dataset.underWay === "yes" && careless.disabled && locked.disabled) seen.disabled = 1;
              if (document.body.dataset.rush > %d && document.querySelector("#oversold.bad")) seen.red = 1;
            }).observe(document, { subtree: true, childList: true, attributes: true }); 0""" % number)
    desk.click("#locked")
    for tab, name in (phone, "phone"), (desk, "desk"):
        tab.wait("document.querySelector('#holder.held') && document.querySelectorAll('#queue .taken').length > 2")
        tab.picture(f"during-{name}")
    for tab in phone, desk:
        tab.wait(over(number + 1) + " && document.querySelector('#holder strong').textContent === 'free'")
        check(figures(tab) == ["0", "10", "0"], figures(tab))
        verdict = words(tab, "#verdict")
        check(verdict == "10 units sold, none too many. 5 buyers came too late.", verdict)
        check(words(tab, "#locked-result") == "10 sold of 10,\nnone too many", words(tab, "#locked-result"))
        check("too many" in words(tab, "#careless-result"), "the other's result is gone")
        units = tab.ask("[...document.querySelectorAll('#orders .taken b + span')].map(e => e.textContent.trim())")
        check(units == [f"unit {unit}" for unit in range(10, 0, -1)], units)
        seen = tab.ask("seen")
        check(len(seen["holders"]) > 1 and seen["waiting"] > 2 and seen["disabled"] > 0 and not seen["red"], seen)
        check(words(tab, "#waiting") == "Nobody waits", words(tab, "#waiting"))
        steady(tab)
    looks_well(desk, "with")
    desk.look(1280, 800, False)

    print("a name is a name")
    name = "<img src=x onerror=alert(1)>"
    check(a.rush(False)[0] == 202, "no rush")
    phone.wait(over(number + 2))
    check(a.request("POST", "/orders", {"buyer": name, "lock": False})[0] == 201, "no order")
    phone.wait(f"[...document.querySelectorAll('#orders b')].some(e => e.textContent === {json.dumps(name)})")
    check(phone.ask("document.images.length") == 0, "a name has become a picture")
    check(not chromium.complaints, chromium.complaints)

    print("from a click on, nothing can be started until the answer is there, and the rush is seen")
    phone.ask("""window.fetched = fetch; window.calls = 0;
        window.fetch = () => { ++calls; return new Promise(done => window.answer = done); }; 0""")
    both_off = "careless.disabled && locked.disabled"
    answers = (("{ ok: false, json: async () => ({ error: 'a rush is under way' }) }", "a rush is under way"),
               ("Promise.reject(new Error('it is far away'))", "it is far away"))
    for number, (answer, why) in enumerate(answers, 1):
        phone.click("#careless")
        phone.wait(f"calls == {number}")
        phone.ask("show(latest)")  # what the page is sent meanwhile
        check(phone.ask(both_off), "a second rush could be asked for")
        phone.ask(f"window.answer({answer})")
        phone.wait(f"document.querySelector('#verdict').textContent === 'Not started: {why}'")
        check(phone.ask("!careless.disabled && !locked.disabled"), "none can be started after one that was not")
    phone.ask("show({ ...latest, lock: false }); rush(false); 0")
    phone.ask("window.answer({ ok: false, json: async () => ({ error: 'no' }) })")
    phone.wait("document.querySelector('#verdict').textContent === 'Not started: no'")
    check(phone.ask("!careless.disabled && locked.disabled"), "a rush with a lock that is not there")
    phone.ask("rush(false); 0")
    phone.ask("show({ ...latest, lock: true }); window.answer({ ok: true, json: async () => ({ rush: 1000 }) })")
    check(phone.ask(f"new Promise(done => setTimeout(() => done({both_off})))"), "one more before the first is seen")
    phone.ask("show({ ...latest, rush: { ...latest.rush, id: 1000 } }); window.fetch = fetched; 0")
    check(phone.ask("!careless.disabled && !locked.disabled"), "none can be started after one that has ended")

    print("its server goes away, and comes back")
    a.end()
    phone.wait("document.body.dataset.live === 'no'")
    check(phone.ask("careless.disabled && locked.disabled"), "buttons that cannot do anything")
    check("No connection" in words(phone, "#verdict"), words(phone, "#verdict"))
    phone.picture("gone")

    print("in between, another program answers there, and not with events")
    with Stranger(a.port) as stranger:
        check(stranger.asked.wait(LIMIT), "the page does not ask any more")
    shop.open("--name", "A", "--port", str(a.port), *lock)
    phone.wait("document.body.dataset.live === 'yes' && !careless.disabled && !locked.disabled")
    steady(phone)
