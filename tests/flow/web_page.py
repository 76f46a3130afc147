# SPDX-License-Identifier: MIT
"""Looks at the page of spate-web as a browser shows it.

    web_page.py DRIVER-PORT URL WORK COMMAND...

DRIVER-PORT is chromedriver's.  COMMAND prints {"status", "streams"} as --json has
them.  Lines of stdin are what to do: `agree`, `away` (wait until the page says that
spated is), `mute` (that spate-web is), `phone`, `tall`, `resources`, `shot FILE`, `findings
STREAM CHANNEL FINDINGS...`, `link RECORDING TEXT`; each is answered with a line `ok`, or one that says what is wrong.
"""
import base64
import json
import signal
import subprocess
import sys
import time
import urllib.request

READ = """
const all = {};
for (const id of ["recordings", "streams", "disks"])
	for (const row of document.getElementById(id).tBodies[0]?.rows || [])
		for (const cell of row.cells)
			all[id + "/" + row.dataset.name + "/" + cell.dataset.key] = cell.dataset.value;
return { cells: all, state: document.getElementById("state").textContent };
"""
KEYS = {
    "recordings": ("name", ("name", "state", "stream", "bytes", "packets",
                            "packets_lost", "overruns")),
    "streams": ("name", ("name", "format", "quality", "datagrams", "packets",
                         "packets_lost", "overruns", "packets_reordered",
                         "bytes")),
    "disks": ("path", ("path", "state", "total", "written", "errors")),
}


class Browser:
    def __init__(self, port, work):
        self.at = f"http://127.0.0.1:{port}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage", "--no-first-run",
                            "--disable-background-networking",
                            f"--user-data-dir={work}/chromium"]}
        self.at += "/" + self.post("", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options}}})["sessionId"]

    def call(self, request):
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def post(self, path, what):
        return self.call(urllib.request.Request(
            self.at + path, json.dumps(what).encode(),
            {"Content-Type": "application/json"}))

    def run(self, script):
        return self.post("/execute/sync", {"script": script, "args": []})


def expected(said):
    """What the cells should say, of a status and streams."""
    lists = {"recordings": said["status"]["recordings"],
             "streams": said["streams"], "disks": said["status"]["disks"]}
    for which, (name, keys) in KEYS.items():
        for one in lists[which]:
            for key in keys:
                value = one[key]
                yield f"{which}/{one[name]}/{key}", \
                    "" if value is None else str(value)
            if "drops" in one:
                yield f"{which}/{one[name]}/drops", \
                    str(sum(one["drops"].values()))


def wrong(browser, command):
    said = json.loads(subprocess.run(command, check=True, text=True,
                                     stdout=subprocess.PIPE).stdout)
    page = browser.run(READ)
    want = dict(expected(said))
    if page["state"] != "spated answers":
        return page["state"]
    if {k.split("/")[1] for k in page["cells"] if k.startswith("rec")} != \
            {r["name"] for r in said["status"]["recordings"]}:
        return "other recordings"
    return "; ".join(f"{k}: {page['cells'].get(k)}, expected {v}"
                     for k, v in want.items() if page["cells"].get(k) != v)


def until(look):
    """None once `look` finds nothing wrong, else what it finds in the end."""
    end = time.monotonic() + 60
    while why := look():
        if time.monotonic() > end:
            return why
        time.sleep(0.2)
    return None


def is_state(browser, text):
    return lambda: browser.run(READ)["state"] not in text and \
        f"it says {browser.run(READ)['state']}, expected {text}"


def phone(browser):
    browser.post("/window/rect", {"width": 500, "height": 800})
    over = browser.run("document.body.style.width = '20em'; return "
                       "document.documentElement.scrollWidth - Math.max("
                       "innerWidth, document.body.offsetWidth + 20)")
    browser.run("document.body.style.width = ''")
    return over > 0 and f"it is {over} pixels too wide for a phone"


def strip(browser, name, mark):
    """Nothing wrong if the strip of a recording has this mark in its last two
    minutes."""
    shown = browser.run(f"""
        const row = document.querySelector('#recordings tr[data-name="{name}"]');
        return row ? row.querySelector('[data-key="lost_strip"]').textContent : '';
        """)
    return (len(shown) != 60 or mark not in shown[-12:]) and f"'{shown}'"


def link(browser, name, text):
    """Nothing wrong if the page says this of the links of a recording."""
    shown = browser.run(f"""
        const row = document.querySelector('#recordings tr[data-name="{name}"]');
        return row ? row.querySelector('[data-key="links"]').textContent : '';
        """)
    return not shown.startswith(text) and f"'{shown}'"


def before(browser):
    """Nothing wrong if a page that is opened anew has points of the plots from
    before that, and shows them."""
    browser.run("location.reload()")
    time.sleep(1)
    return browser.run("""
        if (document.readyState != 'complete') return 'it loads';
        const from = performance.timeOrigin / 1000;
        for (const [name, plot] of Object.entries(plots)) {
            if (!['rate', 'disks', 'buffers', 'clock', 'phase'].includes(name)) continue;
            const points = [...plot.series.values()].flat();
            if (!points.some(p => p[0] < from - 4))
                return name + ' begins when the page was opened';
            if (!points.every((p, i) => Number.isFinite(p[1])))
                return name + ' has no number';
        }""")


def main():
    port, url, work, *command = sys.argv[1:]
    browser = Browser(port, work)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        answer(browser, url, command)
    finally:
        browser.call(urllib.request.Request(browser.at, method="DELETE"))


def findings(browser, words):
    """Channels of these words have these findings, and no others have any.  Whether
    the tones of a dead one are gone, too, takes more frames to tell."""
    shown = browser.run(
        "return [...document.querySelectorAll('#signal figcaption')]"
        ".map(c => c.textContent)")
    want = {" ".join(words[i:i + 2]): words[i + 2]
            for i in range(0, len(words), 3)}
    has = {" ".join(c.split(" ", 2)[:2]): c.split(" ", 2)[2].split(", ")
           for c in shown if not c.endswith(" ok")}
    return (set(has) != set(want) or
            any(want[c] not in has[c] for c in want)) and f"{shown}"


def answer(browser, url, command):
    browser.post("/url", {"url": url})
    for line in sys.stdin:
        word, *rest = line.split()
        why = None
        if word == "agree":
            why = until(lambda: wrong(browser, command))
        elif word == "away":
            why = until(is_state(browser, ["spated does not answer"]))
        elif word == "mute":
            why = until(is_state(browser, ["no word from spate-web"]))
        elif word == "tall":
            browser.post("/window/rect", {"width": 900, "height": 1400})
        elif word == "phone":
            why = phone(browser)
        elif word == "strip":
            why = until(lambda: strip(browser, *rest))
        elif word == "link":
            why = until(lambda: link(browser, rest[0], " ".join(rest[1:])))
        elif word == "before":
            why = until(lambda: before(browser))
        elif word == "findings":
            why = until(lambda: findings(browser, rest))
        elif word == "resources":
            others = browser.run(
                "return performance.getEntriesByType('resource')"
                ".map(e => e.name)")
            why = any(not o.startswith(url) for o in others) and str(others)
        elif word == "shot":
            with open(rest[0], "wb") as file:
                file.write(base64.b64decode(browser.call(
                    browser.at + "/screenshot")))
        print(why or "ok", flush=True)


main()
