
/* Charts in SVG, one above the other on one time axis. */

function element(name, attributes, parent, text) {
  const node = document.createElement(name);
  return dress(node, attributes, parent, text);
}

function drawing(name, attributes, parent, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  return dress(node, attributes, parent, text);
}

// Texts become text nodes, never markup: they are whatever the scenario's author has written.
function dress(node, attributes, parent, text) {
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

const LEFT = 50, RIGHT = 16, TOP = 8, BOTTOM = 8, TIMES = 22, LABELS = 16;

// Steps of 1, 2 or 5 that make about `count` ticks up to `most`.
function niceStep(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((step) => step * power >= rough) || 10);
}

function timeStep(span, count) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600];
  return steps.find((step) => span / step <= count) || 43200;
}

// A series as it is drawn: {line, band}, two paths. Where there are more values than can be told apart, they are put together: the
// line goes through their means, and the band from their lowest to their highest.
const APART = 2; // pixels

function curvePaths(times, values, step, x, y, from, to) {
  const here = [];
  for (let i = 0; i < times.length; i++)
    if (times[i] + step >= from && times[i] <= to) here.push(i);
  const together = Math.max(1, Math.ceil(here.length * APART / Math.max(1, x(to) - x(from)) - .5));
  const line = [], upper = [], lower = [];
  for (let i = 0; i < here.length; i += together) {
    const part = here.slice(i, i + together).map((index) => values[index]);
    const at = x(times[here[i]] + part.length * step / 2).toFixed(1) + " ";
    line.push(at + y(part.reduce((a, b) => a + b) / part.length).toFixed(1));
    upper.push(at + y(Math.max(...part)).toFixed(1));
    lower.unshift(at + y(Math.min(...part)).toFixed(1));
  }
  return {
    together,
    line: line.length ? "M" + line.join("L") : "",
    band: together > 1 ? "M" + upper.join("L") + "L" + lower.join("L") + "Z" : "",
  };
}

function highest(values, times, step, from, to) {
  let most = 0;
  for (let i = 0; i < values.length; i++)
    if (times[i] + step >= from && times[i] <= to && values[i] > most) most = values[i];
  return most;
}

function drawCurve(paths, policy, parent) {
  const nodes = [];
  if (paths.band) nodes.push(drawing("path", {class: "band", d: paths.band}, parent));
  nodes.push(drawing("path", {class: "curve " + policy.classes, d: paths.line, "data-policy": policy.name,
    "vector-effect": "non-scaling-stroke"}, parent));
  for (const node of nodes) node.style.setProperty("--colour", policy.colour);
  return nodes;
}

/* One chart. `kind`: {key, title, unit, height, top (fixed highest value), format, marks: [{value, label, name}]} */
class Panel {
  constructor(kind, parent) {
    this.kind = kind;
    const figure = element("figure", {class: "panel", "data-panel": kind.key}, parent);
    const caption = element("figcaption", {}, figure);
    element("b", {}, caption, kind.title);
    element("span", {}, caption, kind.unit);
    this.svg = drawing("svg", {role: "img"}, figure);
  }

  /* `view`: {from, to, width, compact, step, faults, first, last}; `shown`: the policies to draw. The first panel has room for
   * labels of faults above, the last for times below. */
  draw(view, shown) {
    const inner = (view.compact ? this.kind.compact : this.kind.height) - TOP - BOTTOM;
    this.top = TOP + (view.first === this ? LABELS : 0);
    this.bottom = this.top + inner;
    const height = this.bottom + BOTTOM + (view.last === this ? TIMES : 0);
    this.svg.replaceChildren();
    const clip = drawing("clipPath", {id: "clip-" + this.kind.key}, this.svg);
    drawing("rect", {x: LEFT, y: 0, width: view.width - LEFT - RIGHT, height}, clip);
    this.svg.setAttribute("viewBox", "0 0 " + view.width + " " + height);
    this.shown = shown;
    this.x = (t) => LEFT + (t - view.from) / (view.to - view.from) * (view.width - LEFT - RIGHT);
    const top = this.scale(view, shown, inner);
    this.y = (value) => this.bottom - inner * value / top;
    this.drawTimes(view);
    this.drawFaults(view);
    this.drawMarks(view, top, "line");
    this.drawCurves(view, shown);
    this.drawMarks(view, top, "text");
    this.cross = drawing("line", {class: "cross", y1: this.top, y2: this.bottom, visibility: "hidden"}, this.svg);
    this.dots = shown.map((policy) =>
      drawing("circle", {class: "dot " + policy.classes, r: 3.5, visibility: "hidden"}, this.svg));
    this.dots.forEach((dot, i) => dot.style.setProperty("--colour", shown[i].colour));
    this.describe(view, shown);
  }

  /* Draws the lines of the values' axis, and returns its upper end. */
  scale(view, shown, inner) {
    let most = this.kind.top || 0;
    if (!most) {
      for (const policy of shown)
        most = Math.max(most, highest(policy.series[this.kind.key], policy.series.t, view.step, view.from, view.to));
      // A mark is worth seeing, unless that would press the curves flat.
      for (const mark of this.kind.marks || [])
        if (mark.value < most * 3 || most === 0) most = Math.max(most, mark.value * 1.02);
    }
    most = most || 1;
    const step = this.kind.top ? this.kind.top / 2 : niceStep(most, Math.max(2, Math.round(inner / 38)));
    const top = this.kind.top || most * 1.04;
    for (let value = 0; value <= top * 1.0001; value += step) {
      const y = Math.round(this.bottom - inner * value / top) + .5;
      drawing("line", {class: value ? "gridline" : "axis", x1: LEFT, x2: view.width - RIGHT, y1: y, y2: y}, this.svg);
      drawing("text", {x: LEFT - 8, y: y + 4, "text-anchor": "end"}, this.svg, this.kind.format(value));
    }
    return top;
  }

  drawTimes(view) {
    const step = timeStep(view.to - view.from, Math.max(3, (view.width - LEFT - RIGHT) / 95));
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const x = Math.round(this.x(t)) + .5;
      drawing("line", {class: "gridline", x1: x, x2: x, y1: this.top, y2: this.bottom}, this.svg);
      if (view.last !== this) continue;
      const anchor = x > view.width - 30 ? "end" : "middle";
      drawing("text", {x: Math.min(x, view.width - 4), y: this.bottom + 19, "text-anchor": anchor}, this.svg, formatTick(t, step));
    }
  }

  drawFaults(view) {
    for (const fault of view.faults) {
      const from = Math.max(fault.from_s, view.from), to = Math.min(fault.to_s, view.to);
      if (to <= from) continue;
      const x = this.x(from), width = Math.max(1, this.x(to) - x);
      drawing("rect", {class: "shade", x, y: this.top, width, height: this.bottom - this.top}, this.svg);
      for (const edge of [x, x + width])
        drawing("line", {class: "shade-edge", x1: edge, x2: edge, y1: this.top, y2: this.bottom}, this.svg);
    }
  }

  /* Their lines lie behind the curves, their names in front. */
  drawMarks(view, top, what) {
    for (const mark of this.kind.marks || []) {
      if (mark.value > top) continue;
      const y = Math.round(this.y(mark.value)) + .5, right = view.width - RIGHT;
      const below = mark.name === "normal" && y + 16 < this.bottom;
      if (what === "line") drawing("line", {class: "mark " + mark.name, x1: LEFT, x2: right, y1: y, y2: y}, this.svg);
      else drawing("text", {class: "mark-label", x: right - 4, y: below ? y + 14 : y - 5, "text-anchor": "end"}, this.svg, mark.label);
    }
  }

  drawCurves(view, shown) {
    const inside = drawing("g", {"clip-path": "url(#clip-" + this.kind.key + ")"}, this.svg);
    this.together = 1;
    this.nodes = shown.map((policy) => {
      const paths = curvePaths(policy.series.t, policy.series[this.kind.key], view.step, this.x, this.y, view.from, view.to);
      this.together = Math.max(this.together, paths.together);
      return drawCurve(paths, policy, inside);
    });
  }

  describe(view, shown) {
    const peaks = shown.map((policy) => policy.name + " " +
      this.kind.exact(highest(policy.series[this.kind.key], policy.series.t, view.step, view.from, view.to)));
    this.svg.setAttribute("aria-label", this.kind.title + ", " + this.kind.unit + ", from " + formatTime(view.from) +
      " to " + formatTime(view.to) + ". Highest: " + (peaks.join(", ") || "no policy is shown") + ".");
  }

  /* The line at the value `index` of the series; null: none. */
  point(index, step) {
    const visibility = index === null ? "hidden" : "visible";
    this.cross.setAttribute("visibility", visibility);
    this.dots.forEach((dot) => dot.setAttribute("visibility", visibility));
    if (index === null || !this.shown.length) return;
    const x = this.x(this.shown[0].series.t[index] + step / 2);
    this.cross.setAttribute("x1", x);
    this.cross.setAttribute("x2", x);
    this.dots.forEach((dot, i) => {
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", this.y(this.shown[i].series[this.kind.key][index]));
    });
  }
}
