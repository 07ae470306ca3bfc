"""A headless Chromium, spoken to through its pipe (the Chrome DevTools Protocol)."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile

from shop import LIMIT, check, fail, until

PROGRAMS = "chromium-headless-shell", "chromium"

# In the page: a promise of a condition, looked at whenever something in the document has changed.
HELPERS = """
window.waitFor = condition => new Promise(done => {
  const observer = new MutationObserver(look);
  function look() { const found = condition(); if (found) { observer.disconnect(); done(found); } }
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  look();
});
window.shifts = [];
const box = r => [r.x, r.y, r.width, r.height];
const noted = s => [s.node && (s.node.id || s.node.nodeName), box(s.previousRect), box(s.currentRect)];
new PerformanceObserver(list => {
  for (const e of list.getEntries())
    if (!e.hadRecentInput) window.shifts.push([e.value, ...e.sources.map(noted)]); // such as another size of the window
}).observe({ type: "layout-shift", buffered: true });
"""


def find():
    """The program, or the end of this one, as skipped."""
    for name in PROGRAMS:
        if shutil.which(name):
            return name
    print("skipped: there is no Chromium here (apt-get install chromium-headless-shell)")
    sys.exit(4)


def running(group):
    """Whether there are processes of that group, zombies aside."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
                state, _, its_group = stat.read().rpartition(")")[2].split()[:3]
        except OSError:  # it has ended meanwhile
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


class Browser:
    def __init__(self, program, place):
        self.log = tempfile.TemporaryFile(dir=place)
        # It reads from descriptor 3 and writes to 4.
        inward, outward = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (inward[0], outward[1])]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL",
             "bash", "-c", f'exec 3<&{theirs[0]} 4>&{theirs[1]}; exec "$@"', "-", program,
             "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", f"--user-data-dir={place}/browser"],
            pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
            start_new_session=True) # the program may be a script that starts it, and it has children
        self.to, self.of, self.buffer = inward[1], outward[0], b""
        for fd in (*theirs, inward[0], outward[1]):
            os.close(fd)
        self.last, self.complaints = 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        until("the end of the browser", lambda: not running(self.process.pid))

    def call(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message(method)
            if answer.get("id") == self.last:
                check("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            self.note(answer)

    def message(self, method):
        while b"\0" not in self.buffer:
            if not select.select([self.of], [], [], LIMIT)[0]:
                self.fails(f"the browser does not answer to {method}")
            part = os.read(self.of, 1 << 20)
            if not part:
                self.fails("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def fails(self, text):
        self.log.seek(0)
        fail(f"{text}; it wrote: {self.log.read().decode(errors='replace')[-2000:]}")

    def note(self, event):
        """What the page does wrong is kept."""
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(event["params"]["exceptionDetails"])
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(event["params"]["entry"])

    def open(self, address, width, height, dark=False):
        return Tab(self, address, width, height, dark)


class Tab:
    def __init__(self, browser, address, width, height, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(domain + ".enable")
        self.look(width, height, dark)
        self.call("Page.addScriptToEvaluateOnNewDocument", source=HELPERS)
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def look(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def ask(self, expression):
        """What the expression is in the page, or becomes, if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            fail(f"{expression}: {json.dumps(answer['exceptionDetails'])[:2000]}")
        return answer["result"].get("value")

    def wait(self, condition):
        """Until the condition is true in the page; gives what it is then."""
        return self.ask(f"waitFor(() => {condition})")

    def click(self, selector):
        """With the mouse, in the middle of it, as it is seen."""
        x, y = self.ask(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{ block: "center", behavior: "instant" }}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, name):
        """Kept for people to look at, in the folder that ZKLOCK_SCREENSHOTS names."""
        place = os.environ.get("ZKLOCK_SCREENSHOTS")
        if place:
            data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            with open(f"{place}/{name}.png", "wb") as file:
                file.write(base64.b64decode(data))
