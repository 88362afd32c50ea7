
/* Fills the page from its data. */

const root = document.documentElement;
const byId = (id) => document.getElementById(id);

// For whoever checks the page: what went wrong, and, at the end, that it is complete.
root.dataset.errors = "";
const noteError = (text) => { root.dataset.errors += text + "\n"; };
addEventListener("error", (event) => noteError(event.message));
addEventListener("unhandledrejection", (event) => noteError(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => noteError("blocked: " + event.blockedURI));

const source = byId("data").textContent;
const study = JSON.parse(source);
const policies = study.policies;
const times = policies[0].series.t;
const STEP = times.length > 1 ? times[1] - times[0] : 1;
const PALETTE = 6;

function giveColours() {
  let next = 0;
  for (const policy of policies) {
    policy.shown = true;
    policy.classes = "";
    if (policy.name === "lull" || policy.name === "none") {
      policy.colour = "var(--c-" + policy.name + ")";
      policy.classes = policy.name;
      continue;
    }
    policy.colour = "var(--c" + next % PALETTE + ")";
    if (next >= PALETTE) policy.classes = "dashed";
    next++;
  }
}

function swatch(policy, parent) {
  const mark = element("span", {class: "swatch " + policy.classes, "aria-hidden": "true"}, parent);
  mark.style.setProperty("--colour", policy.colour);
}

/* ---- what it is about ---- */

function fillHeader() {
  byId("scenario").textContent = study.scenario;
  byId("title").textContent = study.title || study.scenario;
  byId("text").textContent = study.text;
  document.title = study.scenario + (study.title ? ": " + study.title : "") + " · lull storm";
  const facts = byId("facts");
  for (const fault of study.faults)
    element("li", {class: "fault"}, facts, fault.service + " " + describeFault(fault) + ", " +
      formatTime(fault.from_s) + " – " + formatTime(fault.to_s));
  element("li", {}, facts, formatTime(study.duration_s) + " simulated");
  // From the text: a seed may have more digits than a number here can hold.
  element("li", {}, facts, "seed " + source.match(/"seed":(\d+)/)[1]);
  if (study.scale !== 1) element("li", {}, facts, "scale " + study.scale);
}

/* A sentence of words and names; names are in bold. */
function say(words) {
  for (const word of words)
    if (word.name !== undefined) element("b", {}, byId("verdict"), word.name);
    else byId("verdict").append(word);
}

function names(list) {
  return list.flatMap((policy, i) => [i === 0 ? "" : i < list.length - 1 ? ", " : " and ", {name: policy.name}]);
}

function fillVerdict() {
  if (!study.faults.length) return say(["Nothing goes wrong in this scenario."]);
  const groups = new Map();
  for (const policy of policies.filter((one) => one.recovery_s !== null).sort((a, b) => a.recovery_s - b.recovery_s)) {
    const when = policy.recovery_s < .5 ? "at once" : "after " + formatTime(policy.recovery_s);
    groups.set(when, [...(groups.get(when) || []), policy]);
  }
  const start = "When the " + (study.faults.length > 1 ? "faults are" : "fault is") + " over, ";
  [...groups].forEach(([when, list], i) => {
    const back = i ? " " : list.length > 1 ? " are back " : " is back ";
    say([i ? ", " : start, ...names(list), back, when]);
  });
  if (groups.size) say([". "]);
  const never = policies.filter((policy) => policy.recovery_s === null);
  if (never.length) say([...names(never), (never.length > 1 ? " do" : " does") + " not recover before the run ends. "]);
  const worst = policies.reduce((a, b) => b.peak_load > a.peak_load ? b : a);
  if (worst.peak_load > 1.5)
    say(["The heaviest load on " + study.watch + ", " + formatRatio(worst.peak_load) + SPACE + "× normal, comes with ",
      {name: worst.name}, "."]);
}

/* ---- the tables ---- */

// What matters most comes first: on a phone, the rest is a swipe away.
const COLUMNS = [
  ["recovery_s", "recovery", (value) => value === null ? (study.faults.length ? "never" : NOTHING) : Math.round(value) + SPACE + "s"],
  ["goodput", "goodput", formatShare],
  ["errors", "errors", formatCount],
  ["attempts_per_request", "attempts /\nrequest", formatRatio],
  ["peak_load", "peak load\n× normal", formatRatio],
  ["peak_after", "after\nthe fault", (value) => value === null ? NOTHING : formatRatio(value)],
  ["p50_ms", "p50", formatLatency],
  ["p99_ms", "p99", formatLatency],
];
const GROUP_COLUMNS = [
  ["requests", "requests", formatCount],
  ["goodput", "goodput", formatShare],
  ["failed", "errors", formatCount],
  ["p50_ms", "p50", formatLatency],
  ["p99_ms", "p99", formatLatency],
];

function addHead(table, columns) {
  const row = element("tr", {}, element("thead", {}, table));
  element("th", {scope: "col"}, row, "policy");
  for (const [, title] of columns) {
    const cell = element("th", {scope: "col"}, row);
    title.split("\n").forEach((line, i) => cell.append(...(i ? [document.createElement("br"), line] : [line])));
  }
  return row;
}

function addRow(body, policy, figures, columns) {
  const row = element("tr", {"data-policy": policy.name}, body);
  const name = element("th", {scope: "row"}, row);
  swatch(policy, name);
  name.append(policy.name);
  if (policy.note) name.title = policy.note;
  for (const [key, , format] of columns) {
    const cell = element("td", {"data-key": key, "data-value": String(figures[key])}, row);
    const text = format(figures[key]);
    const tone = key !== "recovery_s" || !study.faults.length ? "" :
      figures[key] === null ? "bad" : figures[key] <= 10 ? "good" : "";
    if (tone) element("span", {class: "pill " + tone}, cell, text);
    else cell.textContent = text;
  }
  row.addEventListener("pointerenter", () => emphasise(policy));
  row.addEventListener("pointerleave", () => emphasise(null));
  return row;
}

const LINE_WIDTH = 240, LINE_HEIGHT = 34;

function addLine(row, policy, top) {
  const svg = drawing("svg", {viewBox: "0 0 " + LINE_WIDTH + " " + LINE_HEIGHT, role: "img", preserveAspectRatio: "none",
    "aria-label": "Load over time; highest " + formatRatio(policy.peak_load) + " times normal"},
    element("td", {class: "line"}, row));
  const x = (t) => t / study.duration_s * LINE_WIDTH;
  for (const fault of study.faults)
    drawing("rect", {class: "shade", x: x(fault.from_s), y: 0, width: Math.max(1, x(fault.to_s) - x(fault.from_s)),
      height: LINE_HEIGHT}, svg);
  const y = (value) => (LINE_HEIGHT - 2) * (1 - value / top) + 1;
  drawCurve(curvePaths(times, policy.series.offered, STEP, x, y, 0, study.duration_s), policy, svg);
}

function fillTables() {
  const table = byId("outcome");
  element("th", {scope: "col"}, addHead(table, COLUMNS), "load over time").className = "line";
  const body = element("tbody", {}, table);
  const top = Math.max(1, ...policies.map((policy) => highest(policy.series.offered, times, STEP, 0, study.duration_s)));
  for (const policy of policies) addLine(addRow(body, policy, policy, COLUMNS), policy, top);
  policies[0].groups.slice(1).forEach((group, i) => {
    element("h3", {}, byId("groups"), "Beside them: " + group.name);
    const scroller = element("div", {class: "scroller", tabindex: "0", role: "region", "aria-label": group.name}, byId("groups"));
    const other = element("table", {"data-group": group.name}, scroller);
    addHead(other, GROUP_COLUMNS);
    const rows = element("tbody", {}, other);
    for (const policy of policies) addRow(rows, policy, policy.groups[i + 1], GROUP_COLUMNS);
  });
}

function fillNotes() {
  for (const policy of policies) {
    if (!policy.note) continue;
    const name = element("dt", {}, byId("notes"));
    swatch(policy, name);
    name.append(policy.name);
    element("dd", {}, byId("notes"), policy.note);
  }
  byId("notes-section").hidden = !byId("notes").children.length;
}

/* ---- the charts ---- */

const circuits = policies.some((policy) => policy.series.open.some((share) => share > 0));
for (const node of document.querySelectorAll(".circuits")) node.hidden = !circuits;
const KINDS = [
  {key: "offered", title: "Load on " + study.watch, unit: "attempts / s", height: 240, compact: 190, marks: [
    ...(study.capacity ? [{value: study.capacity, label: "capacity", name: "capacity"}] : []),
    ...(study.normal_load ? [{value: study.normal_load, label: "normal", name: "normal"}] : []),
  ]},
  {key: "goodput", title: "Goodput", unit: "requests that succeed / s", height: 170, compact: 140},
  {key: "backlog", title: "Backlog", unit: "requests begun and not ended", height: 170, compact: 140},
  ...(circuits ? [{key: "open", title: "Circuits open", unit: "share of the clients", height: 110, compact: 100,
    top: 1, format: (value) => value * 100 + SPACE + "%", exact: (value) => Math.round(value * 100) + SPACE + "%"}] : []),
];
for (const kind of KINDS) {
  kind.format = kind.format || formatShort;
  kind.exact = kind.exact || formatCount;
}

const view = {from: 0, to: study.duration_s, step: STEP, faults: study.faults};
const panels = [];
let pointed = null; // the index of the values under the line

const shownPolicies = () => policies.filter((policy) => policy.shown);

function draw() {
  view.width = Math.max(280, Math.floor(panels[0].svg.getBoundingClientRect().width));
  view.compact = innerWidth <= 640;
  view.first = panels[0];
  view.last = panels[panels.length - 1];
  // The policies of interest are drawn last, on top.
  const order = shownPolicies().sort((a, b) => (a.name === "lull") - (b.name === "lull"));
  for (const panel of panels) panel.draw(view, order);
  byId("scrubber").min = Math.floor(view.from / STEP);
  byId("scrubber").max = Math.min(times.length, Math.ceil(view.to / STEP)) - 1;
  labelFaults();
  fillHint();
  point(pointed);
}

function fillHint() {
  const seconds = panels[0].together * STEP;
  const sentences = ["Point at the charts, or use the arrow keys, for values.",
    "Click a policy to hide or show it; with Shift, to see it alone."];
  if (panels[0].together > 1)
    sentences.push("Lines are means of " + formatTime(seconds) + ", and bands reach from the lowest to the highest value in them.");
  if (STEP > 1)
    sentences.push("A value stands for " + formatTime(STEP) + ": the highest load and backlog of it, and the mean of the rest.");
  byId("hint").textContent = sentences.join(" ");
}

// In the first chart only; where labels would lie on each other, the header's list has to do.
function labelFaults() {
  let free = 0;
  for (const fault of [...study.faults].sort((a, b) => a.from_s - b.from_s)) {
    const text = fault.service + " " + describeFault(fault);
    const x = panels[0].x(Math.max(fault.from_s, view.from)), width = text.length * 6.4;
    if (fault.to_s <= view.from || fault.from_s >= view.to || x < free || x + width > view.width) continue;
    drawing("text", {class: "fault-label", x, y: TOP + 8}, panels[0].svg, text);
    free = x + width;
  }
}

function emphasise(policy) {
  byId("panels").classList.toggle("emphasis", policy !== null && policy.shown);
  for (const panel of panels)
    for (const node of panel.svg.querySelectorAll(".chosen")) node.classList.remove("chosen");
  if (policy === null) return;
  for (const panel of panels) {
    const index = panel.shown.indexOf(policy);
    if (index < 0) continue;
    for (const node of [...panel.nodes[index], panel.dots[index]]) node.classList.add("chosen");
  }
}

function fillLegend() {
  const buttons = policies.map((policy) => {
    const button = element("button", {type: "button", "aria-pressed": "true", "data-policy": policy.name}, byId("legend"));
    swatch(policy, button);
    button.append(policy.name);
    button.addEventListener("click", (event) => {
      if (event.shiftKey) {
        const alone = shownPolicies().length === 1 && policy.shown;
        for (const other of policies) other.shown = alone || other === policy;
      } else {
        policy.shown = !policy.shown;
      }
      buttons.forEach((other, i) => other.setAttribute("aria-pressed", String(policies[i].shown)));
      draw();
      emphasise(policy.shown ? policy : null);
    });
    for (const [type, chosen] of [["pointerenter", policy], ["focus", policy], ["pointerleave", null], ["blur", null]])
      button.addEventListener(type, () => emphasise(chosen));
    return button;
  });
}

// "Around the fault": a little before the first and some of the time after the last.
function fillRange() {
  if (!study.faults.length) return;
  const first = Math.min(...study.faults.map((fault) => fault.from_s));
  const last = Math.max(...study.faults.map((fault) => fault.to_s));
  const margin = Math.max(15, (last - first) / 3);
  const near = {from: Math.max(0, Math.floor(first - margin)), to: Math.min(study.duration_s, Math.ceil(last + 2 * margin))};
  if (near.to - near.from > study.duration_s * .8) return;
  byId("range").hidden = false;
  const choices = [["whole run", {from: 0, to: study.duration_s}], ["around the fault", near]];
  const buttons = choices.map(([text, range], i) => {
    const button = element("button", {type: "button", "aria-pressed": String(i === 0)}, byId("range"), text);
    button.addEventListener("click", () => {
      Object.assign(view, range);
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      pointed = null;
      draw();
    });
    return button;
  });
}

/* ---- the line that shows values ---- */

function fillTooltip(index) {
  const tooltip = byId("tooltip"), t = times[index];
  const trouble = study.faults.some((fault) => t + STEP > fault.from_s && t < fault.to_s);
  tooltip.replaceChildren();
  const head = element("p", {}, tooltip, formatTime(t));
  if (trouble) element("span", {}, head, "fault");
  const table = element("table", {}, tooltip);
  const titles = element("tr", {}, element("thead", {}, table));
  element("th", {}, titles, "");
  const names = {offered: "load", goodput: "goodput", backlog: "backlog", open: "open"};
  for (const kind of KINDS) element("th", {}, titles, names[kind.key]);
  const body = element("tbody", {}, table);
  for (const policy of shownPolicies()) {
    const row = element("tr", {}, body);
    const name = element("th", {}, row);
    swatch(policy, name);
    name.append(policy.name);
    for (const kind of KINDS) element("td", {}, row, kind.exact(policy.series[kind.key][index]));
  }
}

function placeTooltip(index) {
  const tooltip = byId("tooltip"), charts = byId("charts"), width = tooltip.offsetWidth;
  const box = panels[0].svg.getBoundingClientRect();
  const x = box.left - charts.getBoundingClientRect().left + panels[0].x(times[index] + STEP / 2) * box.width / view.width;
  const left = x + 18 + width < charts.clientWidth - 8 ? x + 18 : Math.max(8, x - 18 - width);
  tooltip.style.left = left + "px";
  tooltip.style.top = byId("panels").offsetTop + 34 + "px";
}

function point(index) {
  pointed = index;
  for (const panel of panels) panel.point(index, STEP);
  const tooltip = byId("tooltip");
  tooltip.hidden = index === null || !shownPolicies().length;
  if (tooltip.hidden) return;
  fillTooltip(index);
  placeTooltip(index);
  const scrubber = byId("scrubber");
  scrubber.value = index;
  scrubber.setAttribute("aria-valuetext", formatTime(times[index]) + ": " + shownPolicies().map((policy) =>
    policy.name + " " + formatCount(policy.series.offered[index]) + " attempts").join(", "));
}

function listen() {
  const area = byId("panels"), scrubber = byId("scrubber");
  const follow = (event) => {
    const box = panels[0].svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) * view.width / box.width - LEFT) / (view.width - LEFT - RIGHT);
    const t = view.from + Math.min(1, Math.max(0, part)) * (view.to - view.from);
    point(Math.min(times.length - 1, Math.max(0, Math.floor(t / STEP))));
  };
  area.addEventListener("pointermove", follow);
  area.addEventListener("pointerdown", follow);
  // A finger that is lifted leaves the values to be read; the next touch elsewhere, or a scroll, takes them away.
  area.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") point(null); });
  area.addEventListener("pointercancel", () => point(null));
  addEventListener("pointerdown", (event) => { if (!area.contains(event.target)) point(null); });
  scrubber.addEventListener("input", () => point(Number(scrubber.value)));
  scrubber.addEventListener("focus", () => { if (scrubber.matches(":focus-visible")) point(Number(scrubber.value)); });
  scrubber.addEventListener("blur", () => point(null));
  addEventListener("keydown", (event) => { if (event.key === "Escape") point(null); });
  let width = 0;
  new ResizeObserver(() => {
    if (byId("panels").clientWidth === width) return;
    width = byId("panels").clientWidth;
    draw();
  }).observe(byId("panels"));
}

giveColours();
fillHeader();
fillVerdict();
fillTables();
fillNotes();
fillLegend();
fillRange();
for (const kind of KINDS) panels.push(new Panel(kind, byId("panels")));
draw();
listen();
root.dataset.ready = "true";
