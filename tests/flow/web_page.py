# SPDX-License-Identifier: MIT
"""Looks at the page of spate-web as a browser shows it.

    web_page.py DRIVER-PORT URL WORK COMMAND...

DRIVER-PORT is chromedriver's.  COMMAND prints {"status", "streams", "scans", "ended"}
as --json has them.  Lines of stdin are what to do; each is answered with a line `ok`,
or one that says what is wrong:

    agree                   wait until all counts are those of COMMAND
    live                    wait until each figure that changes, as a rate, and the
                            last value of each plot was once that of COMMAND
    away, mute              wait until it says that spated, or spate-web, is gone
    findings S C FINDING... wait until channel C of stream S has one, and no other
    drawn                   plots, spectra and the time line are not blank
    losses S                the plot of losses of stream S has as many as are counted
    strip NAME PATTERN      wait until the strip of a recording matches
    link NAME TEXT          wait until this is said of its links
    watch, named NAME LINK  note what is shown from now on; LINK was named in time
    again                   open the page anew: it has the plots from before
    many, phases            of 512 channels 64 are shown, and which phases
    phone, tall, resources, shot FILE
"""
import base64
import calendar
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request

READ = """
const all = {};
for (const id of ["recordings", "strips", "streams", "disks", "sends", "scans"])
	for (const row of document.getElementById(id).tBodies[0]?.rows || [])
		for (const cell of row.cells)
			all[id + "/" + row.dataset.name + "/" + cell.dataset.key] = cell.dataset.value;
for (const id of ["version", "disks_n", "free", "full", "memory"])
	all[id] = document.getElementById(id).dataset.value;
for (const [name, plot] of Object.entries(plots))
	for (const [series, points] of plot.series)
		all["plot/" + name + "/" + series] = String(points[points.length - 1][1]);
for (const [row, from, to, scan] of bars) {
	all["bar/" + scan.id + "/from"] = String(from);
	all["bar/" + scan.id + "/to"] = String(to);
}
return { cells: all, state: document.getElementById("state").textContent };
"""
# Counts, which stay while nothing comes, and figures that change all the time.
COUNTS = {
    "recordings": ("name", ("name", "state", "stream", "bytes", "packets",
                            "packets_lost", "overruns")),
    "strips": ("id", ("name", "state", "start", "packets", "packets_lost")),
    "streams": ("name", ("name", "format", "recording", "quality", "datagrams",
                         "packets", "packets_lost", "overruns",
                         "packets_reordered", "bytes")),
    "disks": ("path", ("path", "state", "total", "written", "errors", "why")),
    "sends": ("id", ("name", "to", "state", "why")),
    "scans": ("id", ("name", "action", "start", "duration_s", "state", "why")),
}
LIVE = {
    "recordings": ("name", ("rate", "clock_s", "clock", "elapsed_s", "left_s")),
    "strips": ("id", ("loss_strip",)),
    "disks": ("path", ("free", "full_s", "rate", "queued", "latency_p99_ms")),
    "sends": ("id", ("bytes", "rate", "left_s")),
}
DAY = 86400


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

    def run(self, script, *args):
        return self.post("/execute/sync", {"script": script, "args": args})


# ---- what the page should say -------------------------------------------


def objects(said, which):
    status = said["status"]
    if which == "strips":
        return status["recordings"] + said["ended"]
    return said[which] if which in said else status[which]


def figures(said, keys):
    for which, (name, some) in keys.items():
        for one in objects(said, which):
            for key in some:
                yield f"{which}/{one[name]}/{key}", one.get(key)


def counts(said):
    yield from figures(said, COUNTS)
    for one in said["status"]["recordings"]:
        yield f"recordings/{one['name']}/drops", sum(one["drops"].values())
    for one in said["streams"]:
        yield f"streams/{one['name']}/drops", sum(one["drops"].values())
    yield "disks_n", said["status"]["space"]["disks"]


def links(recording):
    """Nothing if they do not all hold: then the words are the page's own."""
    bad = [one for one in recording["links"]
           if not one["well"] or one["doubtful"]]
    return None if bad else "holds"


def seconds(text):
    """UTC, of 2026-11-24T15:40:46.563000000Z."""
    whole = calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    return whole + float("0" + text[19:-1])


def live(said):
    """Figures that change, and what plots end with."""
    status = said["status"]
    memory, space = status["memory"], status["space"]
    yield from figures(said, LIVE)
    yield "version", status["uptime_s"]
    yield "free", space["free"]
    yield "full", space["full_s"]
    yield "memory", memory["borrowed"]
    yield "plot/buffers/all", 100 * memory["borrowed"] / memory["bytes"]
    for one in status["recordings"]:
        if links(one):
            yield f"recordings/{one['name']}/links", links(one)
        blocks = one["blocks"]
        yield f"plot/rate/{one['stream']}", one["rate"]
        yield f"plot/buffers/{one['stream']}", \
            100 * (blocks["total"] - blocks["free"]) / blocks["total"]
        if one["clock_s"] is not None:
            yield f"plot/clock/{one['stream']}", one["clock_s"]
    for one in status["disks"]:
        yield f"plot/disks/{one['path']}", one["rate"]
    for one in said["streams"]:
        for c in one["channels"]:
            for tone in c["tones"] or []:
                yield f"plot/phase/{one['name']} {c['thread']}/{c['channel']}" \
                    f" {tone['hz'] / 1e6:g} MHz", tone["phase"]
    for one in said["scans"]:
        ahead = seconds(one["start"]) - time.time()
        if ahead + one["duration_s"] > 60 and ahead < DAY - 60:
            yield f"bar/{one['id']}/from", max(0, ahead / DAY)
            yield f"bar/{one['id']}/to", \
                min(1, (ahead + one["duration_s"]) / DAY)


def same(key, shown, value):
    """Does a cell show this value?  Spans go on while one looks."""
    if value in (None, "") or shown in (None, ""):
        return value in (None, "") and shown in (None, "")
    if isinstance(value, str):
        return shown == value
    last = key.split("/")[-1]
    if last in ("elapsed_s", "left_s") or key == "version":
        return abs(float(shown) - value) < 3
    if key.startswith("bar/"):
        return abs(float(shown) - value) < 60 / DAY
    near = 0.02 if last in ("full_s", "full") else 1e-7
    return abs(float(shown) - value) <= near * abs(value) + 1e-9


def ask(command):
    return json.loads(subprocess.run(command, check=True, text=True,
                                     stdout=subprocess.PIPE).stdout)


def wrong(browser, command):
    said = ask(command)
    page = browser.run(READ)
    cells = page["cells"]
    if page["state"] != "spated answers":
        return page["state"]
    for which, (name, _) in COUNTS.items():
        shown = {k.split("/", 1)[1].rsplit("/", 1)[0] for k in cells
                 if k.startswith(which + "/")}
        want = {str(o[name]) for o in objects(said, which)}
        # Of many strips a part is shown, and scans that are over are not.
        part = which == "scans" or which == "strips" and len(want) > 32
        if shown != want and not (part and shown and shown <= want):
            return f"{which}: {shown}, expected {want}"
    return "; ".join(f"{k}: {cells.get(k)}, expected {v}"
                     for k, v in counts(said)
                     if not same(k, cells.get(k), v) and
                     (k in cells or not k.startswith("strips/")))


def changing(browser, command, agreed):
    """What has not agreed yet, as both are never asked at the same moment."""
    said = ask(command)
    cells = browser.run(READ)["cells"]
    want = dict(live(said))
    agreed.update(k for k, v in want.items() if same(k, cells.get(k), v))
    return "; ".join(f"{k}: {cells.get(k)}, expected {v}"
                     for k, v in want.items() if k not in agreed)


def until(look):
    """None once `look` finds nothing wrong, else what it finds in the end."""
    end = time.monotonic() + 60
    while why := look():
        if time.monotonic() > end:
            return why
        time.sleep(0.2)
    return None


# ---- what it looks like -------------------------------------------------


def is_state(browser, text):
    shown = browser.run(READ)["state"]
    return shown != text and f"it says {shown}, expected {text}"


def phone(browser):
    """As wide as a phone, nothing is wider, and cells say what they are."""
    cdp = "/goog/cdp/execute"
    browser.post(cdp, {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
        "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}})
    why = browser.run("""
        const wide = [document.documentElement, ...document.querySelectorAll('.wide')]
            .filter(e => e.scrollWidth > Math.max(e.clientWidth, 1));
        const cell = document.querySelector('#streams [data-key="packets"]');
        return wide.map(e => e.firstChild.id + ' is wider than a phone')[0] ||
            !getComputedStyle(cell, '::before').content.includes('packets') &&
            'cells have no titles' || '';""")
    browser.post(cdp, {"cmd": "Emulation.clearDeviceMetricsOverride",
                       "params": {}})
    return why


def drawn(browser):
    """Colours are in each plot, spectrum and bar; lines and words are grey."""
    return browser.run("""
        const coloured = (canvas, x, y, w, h) => {
            const p = canvas.getContext('2d').getImageData(x, y, w, h).data;
            let n = 0;
            for (let i = 0; i < p.length; i += 4)
                n += p[i + 3] && Math.max(p[i], p[i + 1], p[i + 2]) -
                    Math.min(p[i], p[i + 1], p[i + 2]) > 60;
            return n;
        };
        const all = c => coloured(c, 0, 0, c.width, c.height);
        for (const [name, plot] of Object.entries(plots))
            if (plot.figure.hidden || all(plot.canvas) < 20) return name + ' is blank';
        for (const figure of document.getElementById('signal').children)
            if (all(figure.lastChild) < 100) return figure.textContent + ' is blank';
        const line = document.getElementById('timeline'), ratio = devicePixelRatio;
        const left = Math.min(110, line.clientWidth / 4) * ratio;
        const x = share => Math.round(left + share * (line.width - left));
        if (!bars.length) return 'no scan is on the time line';
        for (const [row, from, to, scan] of bars)
            if (!coloured(line, x(from), 0, Math.max(1, x(to) - x(from)), line.height))
                return scan.name + ' is not on the time line';
        return coloured(line, 0, 0, left - 2, line.height) &&
            'there are bars below the names';""")


def losses(browser, command, stream):
    """The plot has a rate for each moment: what that is in all is what was
    counted since the page was opened."""
    said = next(s for s in ask(command)["streams"] if s["name"] == stream)
    want = said["packets_lost"] + sum(said["drops"].values())
    points = browser.run("return plots.loss.series.get(arguments[0]) || []",
                         stream)
    lost = sum(b[1] * (b[0] - a[0]) for a, b in zip(points, points[1:]))
    return (not want or abs(lost - want) > 0.01 * want) and \
        f"{lost} are plotted, expected {want}"


def strip(browser, name, pattern):
    shown = browser.run(f"""
        const row = [...document.querySelectorAll('#strips tbody tr')].find(r =>
            r.querySelector('[data-key="name"]').textContent == '{name}');
        return row ? row.querySelector('[data-key="loss_strip"]').textContent : '';
        """)
    return not re.fullmatch(pattern, shown) and f"'{shown}'"


def link(browser, name, text):
    """Nothing wrong if the page says this of the links of a recording."""
    shown = browser.run(f"""
        const row = document.querySelector('#recordings tr[data-name="{name}"]');
        return row ? row.querySelector('[data-key="links"]').textContent : '';
        """)
    return not shown.startswith(text) and f"'{shown}'"


# Each moment that is shown, with spated's own clock, and what is shown of links.
WATCH = """
window.seen = [];
const real = window.drawing || draw;
window.drawing = real;
window.draw = d => {
	real(d);
	if (!d.up) return;
	seen.push({ at: Date.parse(d.status.started) / 1000 + d.status.uptime_s,
		links: Object.fromEntries(d.status.recordings.map(r => [r.name, r.links])),
		shown: Object.fromEntries([...document.querySelectorAll('#recordings tbody tr')].map(row =>
			[row.dataset.name, row.querySelector('[data-key="links"]').textContent])) });
};
"""


def held(browser):
    """Nothing wrong if what was shown last is that all links hold."""
    last = browser.run("return seen.at(-1)?.shown")
    return (not last or set(last.values()) != {"holds"}) and f"'{last}'"


DOUBT = 1.5  # s without an advance after which a link is named
NAMED = 3  # s in which the page has to name it


def named(browser, name, which):
    """By spated's own clock, the page names a link that does not go on within
    3 s.  Where the machine was too busy to ask spated each second, it names it as
    soon as it was told of an advance that is 1.5 s old."""
    seen = [(one["at"], next(x for x in one["links"][name]
                             if x["link"] == which), one["shown"][name])
            for one in browser.run("return seen") if name in one["links"]]
    age = [at - seconds(said["since"]) for at, said, _ in seen]
    first = max((i + 1 for i, one in enumerate(seen)
                 if which + ":" not in one[2]), default=0)
    if not 0 < first < len(seen):
        return f"it is not named after it held: {[one[2] for one in seen]}"
    print(f"{which} is named {age[first]:.1f} s after it went on last",
          file=sys.stderr, flush=True)
    if age[first - 1] > DOUBT + 0.2:
        return f"it was {age[first - 1]:.1f} s old and not named"
    pause = seen[first][0] - seen[first - 1][0]
    return age[first] > NAMED and pause < NAMED - DOUBT and \
        f"it was named after {age[first]:.1f} s"


POINTS = """
return Object.fromEntries(Object.entries(plots).map(([name, plot]) =>
	[name, Object.fromEntries(plot.series)]));
"""


def again(browser):
    """A page that is opened anew has what the one before it had plotted, from
    before: a value of it for each five seconds."""
    plots = "rate", "buffers", "disks", "clock", "phase"

    def short():
        old = browser.run(POINTS)
        return [p for p in plots if not any(
            points[-1][0] - points[0][0] > 16 for points in old[p].values())]

    if why := until(short):
        return f"too short to compare: {why}"
    old = browser.run(POINTS)
    browser.run("window.gone = true; location.reload()")
    end = time.monotonic() + 60
    while browser.run("return window.gone || document.readyState != 'complete' "
                      "|| !newest"):
        if time.monotonic() > end:
            return "it does not load"
        time.sleep(0.2)
    opened = browser.run("return performance.timeOrigin / 1000")
    new = browser.run(POINTS)
    for plot in plots:
        some = 0
        for name, points in old[plot].items():
            for at, value in new[plot].get(name, []):
                if not points[0][0] + 5 < at < opened - 5:
                    continue
                some += 1
                # Phases are kept to a tenth of a degree.
                near = 0.051 if plot == "phase" else 1e-7 * abs(value)
                if not any(abs(t - at) < 10 and abs(v - value) <= near
                           for t, v in points):
                    return f"{plot} of {name} was never {value}"
        if not some:
            return f"{plot} begins when the page was opened"
    return None


def many(browser):
    """Of 512 channels those with findings are shown, and the first others."""
    return browser.run("""
        const one = i => ({ sub: 0, thread: i >> 4, channel: i & 15, tones: [],
            states: Array.from({ length: 256 }, (_, k) => 1000 - k), spectrum: [],
            findings: i == 500 ? ['dead'] : [] });
        const was = newest;
        newest = { ...was, streams: [{ ...was.streams[0], name: 'x', subs: 1,
            channels: Array.from({ length: 512 }, (_, i) => one(i)) }] };
        const shown = () => [...document.querySelectorAll('#signal figcaption')].map(c => c.textContent);
        const pages = () => document.getElementById('signal_pages');
        show_all(newest);
        const a = shown(), words = pages().textContent;
        pages().lastChild.click();
        const b = shown();
        for (let i = 0; i < 20; i++) pages().lastChild.click();
        const c = shown(), last = pages().textContent;
        for (let i = 0; i < 20; i++) pages().firstChild.click();
        const d = shown();
        const bars = levels(one(0).states, 64), sum = bars.reduce((x, y) => x + y, 0);
        newest = was;
        show_all(newest);
        return JSON.stringify(a) != JSON.stringify(d) && 'it does not come back' ||
            a.length != 64 && a.length + ' channels' ||
            a[0] != 'x 31/4 dead' && 'the first one is ' + a[0] ||
            a[1] != 'x 0/0 ok' && 'the second one is ' + a[1] ||
            !words.includes('1 to 64 of 512 channels') && words ||
            b[0] != 'x 3/15 ok' && 'the second page begins with ' + b[0] ||
            c[c.length - 1] != 'x 31/15 ok' && 'the last one is ' + c[c.length - 1] ||
            !last.includes('449 to 512 of 512') && last ||
            (bars.length != 64 || sum != 256 * 1000 - 255 * 128) && bars.length + ' bars of ' + sum || '';
        """)


def phases(browser):
    """Channels with findings come first; all tones of one can be chosen."""
    return browser.run("""
        const p = plots.phase, choose = (channel, tone) => {
            p.channel.value = channel;
            p.tone.value = tone;
            p.draw(Date.now() / 1000);
            return [...p.hues.keys()];
        };
        const offered = [...p.channel.options].map(o => o.textContent);
        const first = choose('', 'first'), one = choose('q 0/1', ''), third = choose('q 0/1', '3000000');
        choose('', 'first');
        return offered.slice(0, 2).join() != 'all channels,q 0/0: dc' && 'offered: ' + offered ||
            first.length < 4 && 'first tones: ' + first ||
            first[0] != 'q 0/0 1 MHz' && 'the first one is ' + first[0] ||
            one.length < 3 && 'tones of a channel: ' + one ||
            !one.every(name => name.startsWith('q 0/1 ')) && 'of other channels: ' + one ||
            third.join() != 'q 0/1 3 MHz' && 'one tone: ' + third ||
            (p.most != 180 || p.least != -180) && 'the axis' ||
            p.joins([0, 179], [1, -179]) && 'a line through 0' || '';
        """)


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


def answer(browser, url, command, word, rest):
    if word == "agree":
        return until(lambda: wrong(browser, command))
    if word == "live":
        agreed = set()
        return until(lambda: changing(browser, command, agreed))
    if word == "away":
        return until(lambda: is_state(browser, "spated does not answer"))
    if word == "mute":
        return until(lambda: is_state(browser, "no word from spate-web"))
    if word == "tall":
        return browser.post("/window/rect", {"width": 900, "height": 1400}) \
            and None
    if word == "phone":
        return phone(browser)
    if word == "drawn":
        return until(lambda: drawn(browser))
    if word == "losses":
        return until(lambda: losses(browser, command, *rest))
    if word == "strip":
        return until(lambda: strip(browser, rest[0], " ".join(rest[1:])))
    if word == "link":
        return until(lambda: link(browser, rest[0], " ".join(rest[1:])))
    if word == "watch":
        return browser.run(WATCH) or until(lambda: held(browser))
    if word == "named":
        return named(browser, *rest)
    if word == "again":
        return again(browser)
    if word == "many":
        return many(browser)
    if word == "phases":
        return until(lambda: phases(browser))
    if word == "findings":
        return until(lambda: findings(browser, rest))
    if word == "resources":
        others = browser.run("return performance.getEntriesByType('resource')"
                             ".map(e => e.name)")
        return any(not o.startswith(url) for o in others) and str(others)
    if word == "shot":
        with open(rest[0], "wb") as file:
            file.write(base64.b64decode(browser.call(
                browser.at + "/screenshot")))
        return None
    return "nobody knows this word"


def main():
    port, url, work, *command = sys.argv[1:]
    browser = Browser(port, work)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        browser.post("/url", {"url": url})
        for line in sys.stdin:
            word, *rest = line.split()
            print(answer(browser, url, command, word, rest) or "ok",
                  flush=True)
    finally:
        browser.call(urllib.request.Request(browser.at, method="DELETE"))


main()
