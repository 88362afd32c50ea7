"""Looks at reports in a browser: storm_page.py BROWSER NAME…, each with NAME.html and NAME.json in this folder.

With LULL_PICTURES=FOLDER, pictures of the pages are put there: light, dark, and on a phone.
"""
import json
import os
import pathlib
import sys

from storm_page_browser import Browser

CELLS = """
[...document.querySelectorAll("#outcome tbody tr")].map((row) => ({
  policy: row.dataset.policy,
  figures: Object.fromEntries([...row.querySelectorAll("td[data-key]")].map((cell) => [cell.dataset.key, cell.dataset.value])),
  texts: Object.fromEntries([...row.querySelectorAll("td[data-key]")].map((cell) => [cell.dataset.key, cell.innerText])),
}))"""
GROUPS = """
[...document.querySelectorAll("#groups table")].map((table) => ({
  name: table.dataset.group,
  p99: [...table.querySelectorAll("td[data-key=p99_ms]")].map((cell) => cell.dataset.value),
}))"""
CURVES = """
[...document.querySelectorAll(".panel")].map((panel) => ({
  key: panel.dataset.panel,
  label: panel.querySelector("svg").getAttribute("aria-label"),
  curves: [...panel.querySelectorAll(".curve")].map((curve) => [curve.dataset.policy, curve.getAttribute("d")]),
}))"""
TOOLTIP = """
document.getElementById("tooltip").hidden ? null :
  [...document.querySelectorAll("#tooltip tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))"""
PANELS = "document.getElementById('panels').getBoundingClientRect()"


def check(name, fine, why=""):
    print(f"pass {name}" if fine else f"fail {name}: {why!r}".replace("\n", " "), flush=True)


def plain(text):
    return text.replace("\u00a0", " ")


def number(text):
    return None if text == "null" else float(text)


def check_numbers(browser, name, study):
    rows = browser.value(CELLS)
    keys = ("attempts_per_request", "peak_load", "peak_after", "goodput", "errors", "recovery_s", "p50_ms", "p99_ms")
    expected = [(policy["name"], {key: policy[key] for key in keys}) for policy in study["policies"]]
    found = [(row["policy"], {key: number(value) for key, value in row["figures"].items()}) for row in rows]
    check(f"{name}: the table has the numbers of the JSON", found == expected, [found, expected])
    never = "never" if study["faults"] else "–"
    texts = [(row["texts"]["errors"], plain(row["texts"]["recovery_s"]), row["texts"]["attempts_per_request"])
             for row in rows]
    expected = [(f"{policy['errors']:,}",
                 never if policy["recovery_s"] is None else f"{int(policy['recovery_s'] + .5)} s",
                 f"{policy['attempts_per_request']:.2f}") for policy in study["policies"]]
    check(f"{name}: the table shows them", texts == expected, [texts, expected])
    groups = browser.value(GROUPS)
    expected = [{"name": group["name"], "p99": [policy["groups"][i]["p99_ms"] for policy in study["policies"]]}
                for i, group in enumerate(study["policies"][0]["groups"]) if i > 0]
    for group in groups:
        group["p99"] = [number(value) for value in group["p99"]]
    check(f"{name}: other clients have theirs", groups == expected, [groups, expected])


def check_texts(browser, name, study, seed):
    check(f"{name}: the title is a text", browser.value("document.getElementById('title').textContent") == study["title"])
    check(f"{name}: so is what it is about", browser.value("document.getElementById('text').textContent") == study["text"])
    check(f"{name}: the seed, to the last digit", f"seed {seed}" in browser.value(
        "[...document.querySelectorAll('#facts li')].map((fact) => fact.textContent)"))
    strangers = "document.querySelectorAll('main img, main script, main u, main i, h1 *').length"
    check(f"{name}: no text has become markup", browser.value(strangers) == 0)


def check_curves(browser, name, study):
    panels = browser.value(CURVES)
    opened = any(share > 0 for policy in study["policies"] for share in policy["series"]["open"])
    keys = ["offered", "goodput", "backlog"] + (["open"] if opened else [])
    check(f"{name}: a chart for each kind", [panel["key"] for panel in panels] == keys, panels)
    names = sorted(policy["name"] for policy in study["policies"])
    for panel in panels:
        check(f"{name}: {panel['key']}: a curve for each policy",
              sorted(curve[0] for curve in panel["curves"]) == names, panel)
        check(f"{name}: {panel['key']}: each is drawn",
              all(path.startswith("M") and "NaN" not in path and path.count("L") > 20 for _, path in panel["curves"]), panel)
        check(f"{name}: {panel['key']}: it is told in words", all(one in panel["label"] for one in names), panel["label"])


def expected_row(study, policy, index):
    series = policy["series"]
    opened = any(share > 0 for one in study["policies"] for share in one["series"]["open"])
    row = [policy["name"]] + [f"{int(series[key][index] + .5):,}" for key in ("offered", "goodput", "backlog")]
    return row + ([f"{int(series['open'][index] * 100 + .5)} %"] if opened else [])


def shown_values(browser):
    rows = browser.value(TOOLTIP)
    return rows and [[plain(cell) for cell in row] for row in rows]


def check_pointing(browser, name, study):
    browser.value("document.getElementById('panels').scrollIntoView()")
    box = browser.value(f"({{top: {PANELS}.top, left: {PANELS}.left, width: {PANELS}.width}})")
    browser.move_pointer(box["left"] + box["width"] / 2, box["top"] + 120)
    index = int(browser.value("document.getElementById('scrubber').value"))
    middle = len(study["policies"][0]["series"]["t"]) / 2
    check(f"{name}: pointing at the middle is about the middle of the run", abs(index - middle) < middle * .1, index)
    expected = [expected_row(study, policy, index) for policy in study["policies"]]
    check(f"{name}: pointing shows the values of the JSON", shown_values(browser) == expected,
          [shown_values(browser), expected])
    browser.move_pointer(2, 2)
    check(f"{name}: and they go away again", shown_values(browser) is None)


def check_keys(browser, name, study):
    browser.value("document.getElementById('scrubber').focus()")
    start = int(browser.value("document.getElementById('scrubber').value"))
    for _ in range(3):
        browser.press("ArrowRight")
    index = int(browser.value("document.getElementById('scrubber').value"))
    check(f"{name}: keys move the time", index == start + 3, [start, index])
    expected = [expected_row(study, policy, index) for policy in study["policies"]]
    check(f"{name}: keys show the values", shown_values(browser) == expected, [shown_values(browser), expected])
    browser.press("Escape")
    check(f"{name}: Escape takes them away", shown_values(browser) is None)


def check_legend(browser, name, study):
    first = study["policies"][0]["name"]
    curves = "[...document.querySelectorAll('.panel[data-panel=offered] .curve')].map((curve) => curve.dataset.policy)"
    pressed = "document.querySelector('#legend button').getAttribute('aria-pressed')"
    browser.value("document.querySelector('#legend button').click()")
    check(f"{name}: a click hides a policy", first not in browser.value(curves) and browser.value(pressed) == "false")
    browser.value("document.querySelector('#legend button').click()")
    check(f"{name}: another shows it", first in browser.value(curves) and browser.value(pressed) == "true")
    browser.value("document.querySelector('#legend button').dispatchEvent(new MouseEvent('click', {shiftKey: true}))")
    check(f"{name}: with Shift it is alone", browser.value(curves) == [first], browser.value(curves))
    for _ in study["policies"]:
        browser.value("document.querySelector('#legend button[aria-pressed=true]')?.click()")
    check(f"{name}: without any policy it is empty, not broken", browser.value(curves) == [])


def check_looks(browser, name, page, pictures):
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open(page, 1280, 900)
    light = browser.value(colour)
    take_picture(browser, pictures, f"{name}-light.png")
    browser.open(page, 1280, 900, dark=True)
    check(f"{name}: dark is dark", browser.value(colour) != light, light)
    take_picture(browser, pictures, f"{name}-dark.png")
    browser.open(page, 390, 844, scale=2)
    width = browser.value("document.documentElement.scrollWidth")
    check(f"{name}: fits a phone", width <= 390, width)
    take_picture(browser, pictures, f"{name}-phone.png")


def take_picture(browser, pictures, file):
    if pictures:
        browser.settle()
        browser.screenshot(pathlib.Path(pictures) / file)


def check_page(browser, name, pictures):
    page = f"{name}.html"
    text = pathlib.Path(f"{name}.json").read_text(encoding="utf-8")
    study, seed = json.loads(text), text.split('"seed":', 1)[1].split(",", 1)[0]
    check(f"{name}: under 1 MB", os.path.getsize(page) < 1e6, os.path.getsize(page))
    browser.open(page, 1280, 900)
    check(f"{name}: complete", browser.value("document.documentElement.dataset.ready") == "true")
    check_numbers(browser, name, study)
    check_texts(browser, name, study, seed)
    check_curves(browser, name, study)
    check_pointing(browser, name, study)
    check_keys(browser, name, study)
    check_legend(browser, name, study)
    errors = browser.value("document.documentElement.dataset.errors")
    check_looks(browser, name, page, pictures)
    check(f"{name}: no errors in the page", errors == "", errors)
    check(f"{name}: nothing on the console, and nothing fetched", not browser.complaints, browser.complaints)


def main():
    program, *names = sys.argv[1:]
    with Browser(program) as browser:
        for name in names:
            check_page(browser, name, os.environ.get("LULL_PICTURES"))
    print("end")


main()
