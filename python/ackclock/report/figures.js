/* Draws figures from their JSON as inline SVG with text, at the width there is.

   A figure has panels that share their axes. A panel has series; `draw` says how one looks:
   points (mean, interval, single runs, a ? in doubt), marks (points without a line), line, steps,
   dots, bars or columns (from low to high) or ticks. Colour and dash of a series come from its
   name, by CSS class, so that they are the same on every page, and dark mode and print need no
   second drawing. A method is switched on the whole page, a series with an `id` alone. */
const NS = "http://www.w3.org/2000/svg";
const LEFT = 48,
  TOP = 26,
  BOTTOM = 44,
  LINE = 16, // of a title, and the width of one of its letters
  LETTER = 7.6,
  GAP = 18,
  NARROW = 215,
  STRIP = 12;
const DODGE = 9; // pixels between the marks of methods at one value
const CORNERS = {
  triangle: [
    [0, -1.3],
    [1.2, 0.9],
    [-1.2, 0.9],
  ],
  square: [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  wedge: [
    [0, 1.3],
    [1.2, -0.9],
    [-1.2, -0.9],
  ],
  diamond: [
    [0, -1.35],
    [1.35, 0],
    [0, 1.35],
    [-1.35, 0],
  ],
  left: [
    [-1.3, 0],
    [0.9, -1.2],
    [0.9, 1.2],
  ],
  right: [
    [1.3, 0],
    [-0.9, 1.2],
    [-0.9, -1.2],
  ],
};
for (const [name, count, inner] of [["pentagon", 5, 1], ["star", 10, 0.45]])
  CORNERS[name] = Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count,
      far = i % 2 && count > 5 ? 1.4 * inner : 1.4;
    return [far * Math.sin(angle), -far * Math.cos(angle)];
  });
const STROKES = {
  cross: "m-3-3l6 6m0-6l-6 6",
  "cross-filled": "m-3-3l6 6m0-6l-6 6",
  plus: "m-4 0h8m-4-4v8",
  "plus-filled": "m-4 0h8m-4-4v8",
  bar: "m0-4v8",
};
const off = new Set(),
  figures = [],
  spans = {}; // switched off; all figures; zoom by link

function add(parent, name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text != null) node.textContent = text;
  parent.append(node);
  return node;
}
const html = (parent, name, className = "", textContent = "") =>
  parent.appendChild(Object.assign(document.createElement(name), { className, textContent }));
/* Numbers: about four significant digits, two of an interval, as in the tables. */
const decimals = (value, significant) =>
  value === 0
    ? 0
    : Math.max(0, Math.min(6, significant - 1 - Math.floor(Math.log10(Math.abs(value)))));
const signed = (text) => text.replace(/^-(?=[0.]*$)/, "").replace("-", "−"); // no negative zero
export function written(value, half) {
  if (value == null || Number.isNaN(value)) return "–";
  const digits = half ? Math.min(decimals(value, 4), decimals(half, 2)) : decimals(value, 4),
    spread = half == null || Number.isNaN(half) ? "" : ` ± ${half ? half.toFixed(digits) : 0}`;
  return signed(value.toFixed(digits)) + spread;
}
/* Axes. */
function scale(kind, [from, to], start, end, least) {
  // symlog: linear from zero to the least value, which takes as much room as a factor of e
  const f =
      kind === "log"
        ? Math.log
        : kind === "symlog"
          ? (v) => (v < least ? v / least : 1 + Math.log(v / least))
          : (v) => v,
    low = f(from),
    slope = (end - start) / (f(to) - low || 1);
  const at = (value) => start + (f(value) - low) * slope;
  at.inverse = (pixel) => {
    const v = low + (pixel - start) / slope;
    return kind === "log" ? Math.exp(v) : v;
  };
  return at;
}
function linearTicks(from, to, count) {
  const rough = (to - from) / count,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)) * power,
    ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++)
    ticks.push(k * step);
  return ticks;
}
function logTicks(from, to, count) {
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let e = Math.floor(Math.log10(from)); e <= Math.log10(to); e++)
      for (const k of factors) {
        const v = k * 10 ** e;
        if (v >= from && v <= to) ticks.push(v);
      }
    if (ticks.length <= count + 2 || factors.length === 1)
      return ticks.length > 1 ? ticks : linearTicks(from, to, count);
  }
}
const RAISED = Object.fromEntries([..."-0123456789"].map((c, i) => [c, "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[i]]));
function power(value) {
  // a very small or large number of a logarithmic axis: 10⁻⁶, 3·10⁵
  const e = Math.floor(Math.log10(value) + 1e-9),
    factor = +(value / 10 ** e).toFixed(3);
  return (factor === 1 ? "" : `${factor}·`) + "10" + [...String(e)].map((c) => RAISED[c]).join("");
}
function labels(ticks, kind) {
  if (kind === "log" && ticks.some((t) => t < 2e-4 || t >= 1e5))
    return ticks.map((t) => (t >= 0.01 && t < 1e4 ? String(+t.toPrecision(6)) : power(t)));
  const step =
    ticks.length > 1 ? Math.min(...ticks.slice(1).map((t, i) => Math.abs(t - ticks[i]))) : 1;
  return ticks.map((t) =>
    signed(String(+t.toFixed(Math.max(0, 2 - Math.floor(Math.log10(step || 1)))))),
  );
}
/* Marks. */
function mark(parent, one, x, y, radius = 4) {
  const kind = "mark" + (one.hollow ? " hollow" : "");
  const stroke = STROKES[one.mark];
  if (stroke) return add(parent, "path", { class: kind, d: `M${x} ${y}${stroke}` });
  const r = one.mark === "point" ? 2 : radius;
  if (!CORNERS[one.mark]) return add(parent, "circle", { class: kind, cx: x, cy: y, r });
  const d = CORNERS[one.mark]
    .map(([a, b]) => (x + a * radius).toFixed(1) + " " + (y + b * radius).toFixed(1))
    .join("L");
  return add(parent, "path", { class: kind, d: `M${d}Z` });
}
const dot = (parent, s, x, y, radius = 1.6) =>
  STROKES[s.mark]
    ? mark(parent, s, x, y)
    : add(parent, "circle", { class: "dot", cx: x.toFixed(1), cy: y.toFixed(1), r: radius });
function sample(parent, key) {
  // what a legend shows of a series
  const svg = add(parent, "svg", {
    viewBox: "-12 -8 24 16",
    width: 24,
    height: 16,
    "aria-hidden": true,
  });
  const group = add(svg, "g", { class: "s-" + key.s });
  if (!["dots", "bars", "columns", "ticks", "marks"].includes(key.draw))
    add(group, "path", { class: "line", d: "M-11 0H11" });
  if (["bars", "columns", "ticks"].includes(key.draw))
    add(group, "path", { class: "interval", d: "M-5 5V-5M1 2V-6M6 5V-3" });
  else if ((key.draw === "points" && key.mark) || key.draw === "marks") mark(group, key, 0, 0);
  else if (key.draw === "dots") [-6, 0, 6].forEach((x) => dot(group, key, x, 0, 2));
}

/* Values over time: x is a list, or [first, step]; rising. */
const xAt = (series, i) => (series.dx ? series.x0 + i * series.dx : series.x[i]);
const size = (series) => series.y.length;
function position(series, x) {
  // of the first value at or after x
  let low = 0,
    high = size(series);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xAt(series, middle) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
const visible = (series, span) =>
  span
    ? [
        Math.max(0, position(series, span[0]) - 1),
        Math.min(size(series), position(series, span[1]) + 1),
      ]
    : [0, size(series)];
function path(series, span, X, Y) {
  // first, least, greatest and last value of each pixel column
  const [first, last] = visible(series, span),
    steps = series.draw === "steps",
    all = last - first < 1500;
  let d = "",
    pen = false,
    column = null,
    kept = [];
  const put = (i) => {
    const x = X(xAt(series, i)).toFixed(1),
      y = Y(series.y[i]).toFixed(1);
    d += pen ? (steps ? `H${x}V${y}` : `L${x} ${y}`) : `M${x} ${y}`;
    pen = true;
  };
  const flush = () => {
    [...new Set(kept)].sort((a, b) => a - b).forEach(put);
    kept = [];
  };
  for (let i = first; i < last; i++) {
    if (series.y[i] == null) {
      flush();
      pen = false;
      column = null;
      continue;
    }
    if (all) {
      put(i);
      continue;
    }
    const at = Math.round(X(xAt(series, i)));
    if (at !== column) {
      flush();
      column = at;
      kept = [i, i, i, i];
    }
    kept = [
      kept[0],
      series.y[i] < series.y[kept[1]] ? i : kept[1],
      series.y[i] > series.y[kept[2]] ? i : kept[2],
      i,
    ];
  }
  flush();
  return d;
}
function bars(series, span, X, Y) {
  // one bar for each pixel column
  const [first, last] = visible(series, span),
    columns = new Map();
  for (let i = first; i < last; i++) {
    const at = last - first < 1500 ? X(xAt(series, i)).toFixed(1) : Math.round(X(xAt(series, i)));
    const one = columns.get(at) || [Infinity, -Infinity];
    columns.set(at, [Math.min(one[0], series.low[i]), Math.max(one[1], series.y[i])]);
  }
  return [...columns]
    .map(
      ([x, [low, high]]) =>
        `M${x} ${Y(low).toFixed(1)}V${Math.min(Y(high), Y(low) - 1).toFixed(1)}`,
    )
    .join("");
}

const named = (figure, one) =>
  one.id ? `${figure} ${one.id}` : one.s;
const toggle = (series) => {
  off.delete(series) || off.add(series);
  figures.filter((one) => one.has(series)).forEach((one) => one.draw());
};
// Draws a figure into a box. Its `update` draws it from other data with the same axes. `tell` gets
// what the cursor reads, if that is not to stand beside it: a value of x, and [key, y] of series.
export function figure(box, spec, tell) {
  const id = box.dataset.figure,
    link = spec.link || id,
    timed = spec.x.kind === "time",
    along = spec.x.log ? "log" : ["log", "symlog"].includes(spec.x.kind) ? spec.x.kind : "linear";
  const own = (one) => named(id, one);
  const listed = () =>
    timed && !spec.x.snaps
      ? []
      : [...new Set(spec.panels.flatMap((p) => p.series.flatMap((s) => s.x)))].sort(
          (a, b) => a - b,
        );
  let keys = spec.keys,
    xs = listed();
  box.replaceChildren();
  const switches = html(box, "div", "switches");
  switches.role = "group";
  switches.ariaLabel = "Shown in the figures";
  const frame = html(box, "div", "canvas"),
    svg = add(frame, "svg", { role: "img", tabindex: 0, "aria-labelledby": `${id}-t ${id}-d` });
  const tip = html(frame, "div", "tip"),
    spoken = html(frame, "p", "unseen");
  tip.hidden = true;
  spoken.ariaLive = "polite";
  let top = TOP,
    bottom = BOTTOM,
    places = [],
    panel = 0,
    cursor = null,
    width = 0,
    drag = null;
  const offer = () => {
    for (const one of switches.querySelectorAll("[data-series]")) one.remove();
    keys.forEach(offered);
  };
  const offered = (key) => {
    const button = Object.assign(html(switches, "button", "switch"), {
      type: "button",
      onclick: () => toggle(own(key)),
    });
    button.dataset.series = own(key);
    sample(button, key);
    for (const [kind, words] of [
      ["", key.name],
      ["mute", key.of],
    ])
      if (words) html(button, "span", kind, words);
    whole.before(button);
  };
  const all = spec.x.unit == null ? "Whole time" : "All";
  const whole = Object.assign(html(switches, "button", "switch", all), {
    type: "button",
    onclick: () => zoom(null),
  });
  offer();
  switches.hidden = keys.length < 2 && !timed;
  const shown = (p) => p.series.filter((s) => !off.has(own(s))),
    span = () => (spans[link]?.[0] < spec.x.span?.[1] ? spans[link] : spec.x.span);
  const zoom = (to) => {
    spans[link] = to;
    figures.filter((one) => one.link === link).forEach((one) => one.draw());
  };
  function heights() {
    // of the shared vertical axis
    const log = spec.y.kind === "log",
      warm = spec.y.warmup < span()?.[1] ? spec.y.warmup : -Infinity,
      ok = (v) => v != null && isFinite(v) && (!log || v > 0);
    let low = Infinity,
      high = -Infinity;
    const take = (v) => {
      if (ok(v)) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    };
    for (const p of spec.panels)
      for (const s of shown(p).length ? shown(p) : p.series) {
        if (s.draw === "ticks" || s.aside) continue;
        const [first, last] = visible(s, span());
        for (let i = first; i < last; i++) {
          if (xAt(s, i) <= warm) continue;
          take(s.y[i]);
          if (s.low) take(s.low[i]);
          if (s.half && s.half[i] != null && s.y[i] != null) {
            take(s.y[i] + s.half[i]);
            take(
              log
                ? Math.max(s.y[i] - s.half[i], s.y[i] / 4)
                : Math.max(s.y[i] - s.half[i], spec.y.zero && s.y[i] >= 0 ? 0 : -Infinity),
            );
          }
          if (s.runs) (s.runs[i] || []).forEach(take);
        }
      }
    if (low > high) [low, high] = log ? [1, 10] : [0, 1];
    const near = log
      ? (v) => v < high * 6 && v > low / 6
      : (v) => v < high * 1.5 && v > low - (high - low);
    for (const one of spec.panels.flatMap((p) => p.limits || []))
      if (one.low || near(one.y)) take(one.y);
    if (log) return [low / 1.15, high * 1.15];
    if (spec.y.zero) low = Math.min(0, low);
    const room =
      (high - low || Math.abs(high) || 1) *
      (spec.panels.some((p) => (p.limits || []).length) ? 0.12 : 0.06);
    return [low === 0 && spec.y.zero ? 0 : low - room, high + room];
  }
  function breadth() {
    if (timed) return span();
    if (spec.x.kind === "category") return [-0.5, spec.x.ticks.length - 0.5];
    const [low, high] = [xs[0], xs[xs.length - 1]],
      far = Math.max(1.25, (high / low) ** 0.14),
      room = (high - low || 1) * 0.12;
    if (along === "symlog") return [-0.3 * xs[1], high * 1.25];
    return along === "log" ? [low / far, high * far] : [low - room, high + room];
  }
  function draw(room = Math.round(frame.clientWidth)) {
    width = room;
    if (!width) return;
    [top, bottom] = [spec.top ?? TOP, spec.bottom ?? BOTTOM];
    for (const one of switches.querySelectorAll("[data-series]"))
      one.setAttribute("aria-pressed", String(!off.has(one.dataset.series)));
    whole.hidden = !spans[link];
    const count = spec.panels.length,
      longest = Math.max(...spec.panels.map((p) => p.title.length)),
      narrow = Math.max(NARROW, Math.min(340, 8 * longest)),
      columns = Math.max(
        1,
        Math.min(count, spec.columns || 3, Math.floor((width - LEFT) / narrow)),
      );
    const rows = Math.ceil(count / columns),
      each = (width - LEFT - GAP * (columns - 1) - 8) / columns;
    const titles = spec.panels.map((p) => wrapped(p.title, each)),
      above = top + LINE * (Math.max(...titles.map((lines) => lines.length)) - 1),
      height = spec.height + above - top,
      [least, most] = heights(),
      x = breadth();
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${rows * height}`);
    svg.setAttribute("height", rows * height);
    add(svg, "title", { id: `${id}-t` }, spec.title);
    add(svg, "desc", { id: `${id}-d` }, spec.description);
    const yTicks = (spec.y.kind === "log" ? logTicks : linearTicks)(
      least,
      most,
      Math.max(4, Math.round((spec.height - top - bottom) / 38)),
    );
    const xTicks = ticksOfX(x, each);
    places = spec.panels.map((p, i) => {
      const x0 = LEFT + (i % columns) * (each + GAP),
        y0 = Math.floor(i / columns) * height + above;
      const title = titles[i],
        place = { p, title, x0, x1: x0 + each, y0, y1: y0 + spec.height - top - bottom };
      place.X = scale(along, x, place.x0, place.x1, xs[1]);
      place.Y = scale(spec.y.kind, [least, most], place.y1 - (p.bands ? STRIP + 4 : 0), place.y0);
      const clip = `${id}-c${i}`,
        beside = timed ? 0 : 12,
        over = Math.min(8, top - 4);
      add(add(svg, "clipPath", { id: clip }), "rect", {
        x: x0 - beside,
        y: y0 - over,
        width: each + 2 * beside,
        height: place.y1 - y0 + over + 1,
      });
      axes(place, yTicks, xTicks, i % columns === 0, i + columns >= count);
      const inside = add(svg, "g", { "clip-path": `url(#${clip})` });
      shown(p).forEach((s) => draws(inside, s, place, shown(p)));
      (p.notes || [])
        .filter((n) => n.needs.every((s) => !off.has(s)))
        .forEach((n) => note(n, place));
      place.cross = add(svg, "line", { class: "cross", y1: y0, y2: place.y1 });
      return place;
    });
    if (cursor != null) show(cursor, panel);
  }
  function wrapped(words, room) {
    // a title as lines that fit above a panel
    return words.split(" ").reduce(
      (lines, word) => {
        const longer = `${lines.at(-1)} ${word}`.trim();
        return LETTER * longer.length > room && lines.at(-1)
          ? [...lines, word]
          : [...lines.slice(0, -1), longer];
      },
      [""],
    );
  }
  function ticksOfX(x, each) {
    if (spec.x.ticks) {
      // those for which there is room
      const X = scale(along, x, 0, each, xs[1]),
        room = (name) => Math.max(36, 6.6 * name.length + 8);
      return spec.x.ticks.reduce(
        (kept, t) =>
          kept.length && X(t[0]) - X(kept.at(-1)[0]) < (room(t[1]) + room(kept.at(-1)[1])) / 2
            ? kept
            : [...kept, t],
        [],
      );
    }
    const ticks = (along === "log" ? logTicks : linearTicks)(
        ...x,
        Math.max(2, Math.min(8, Math.floor(each / 62))),
      ),
      names = labels(ticks, along);
    return ticks.map((t, i) => [t, names[i]]);
  }
  function axes(place, yTicks, xTicks, isFirst, isLast) {
    const { p, title, x0, x1, y0, y1, X, Y } = place,
      group = add(svg, "g", {});
    const block = (kind, from, to, y, height) => {
      const a = Math.max(x0, X(from)),
        b = Math.min(x1, X(to));
      if (b > a) add(group, "rect", { class: kind, x: a, y, width: b - a, height });
    };
    if (p.shade) block("shade", ...p.shade, y0, y1 - y0);
    title.forEach((line, i) => {
      const y = y0 - 11 - LINE * (title.length - 1 - i);
      if (line) add(group, "text", { class: "title", x: x0, y }, line);
    });
    const yNames = labels(yTicks, spec.y.kind);
    yTicks.forEach((t, i) => {
      add(group, "line", { class: "grid", x1: x0, x2: x1, y1: Y(t), y2: Y(t) });
      if (isFirst)
        add(group, "text", { x: x0 - 7, y: Y(t) + 4, "text-anchor": "end" }, yNames[i]);
    });
    add(group, "line", { class: "axis", x1: x0, x2: x1, y1, y2: y1 });
    for (const [t, name] of xTicks) {
      if (X(t) < x0 - 1 || X(t) > x1 + 1 || bottom < LINE) continue;
      add(group, "line", { class: "axis", x1: X(t), x2: X(t), y1, y2: y1 + 4 });
      add(group, "text", { x: X(t), y: y1 + 17, "text-anchor": "middle" }, name);
    }
    if (isLast)
      add(group, "text", { x: (x0 + x1) / 2, y: y1 + 35, "text-anchor": "middle" }, spec.x.label);
    for (const one of p.limits || []) {
      const y = Y(one.y);
      if (y < y0 - 1 || y > y1 + 1) continue;
      add(group, "line", { class: `limit ${one.look ?? ""}`, x1: x0, x2: x1, y1: y, y2: y });
      // its name stands at the end that no series meets there, if one is free
      const meets = (end) => shown(p).some((s) => Math.abs(Y(s.y.at(end) ?? NaN) - y) < LINE),
        first = meets(-1) && !meets(0);
      add(
        group,
        "text",
        {
          x: first ? x0 + 4 : x1 - 2,
          y: y + (y < y0 + 16 ? 14 : -5),
          "text-anchor": first ? "start" : "end",
        },
        one.text,
      );
    }
    for (const [from, to, kind] of p.bands || [])
      block(`band b-${kind}`, from, to, y1 - STRIP, STRIP);
    const ends = []; // where the last name of each row ends: names that would meet go below
    for (const one of [...(p.events || [])].sort((a, b) => a.x - b.x)) {
      const x = X(one.x);
      if (x < x0 - 1 || x > x1 + 1) continue;
      const long = 8 + 6.6 * one.text.length,
        left = x + long > x1,
        free = ends.findIndex((end) => end <= x - (left ? long : 0)),
        row = free < 0 ? ends.length : free;
      ends[row] = left ? x : x + long;
      add(group, "line", { class: "limit", x1: x, x2: x, y1: y0, y2: y1 });
      add(
        group,
        "text",
        { x: x + (left ? -4 : 4), y: y0 + 4 + LINE * row, "text-anchor": left ? "end" : "start" },
        one.text,
      );
    }
  }
  function dodge(series, all, place) {
    // moves marks at one value aside, the models not; on a continuous axis they stay
    if (timed) return 0;
    const aside = all.filter((s) => s.draw === "points" && !s.id && s.s !== "predict"),
      at = aside.indexOf(series);
    const room =
      xs.length > 1 ? Math.min(...xs.slice(1).map((v, i) => place.X(v) - place.X(xs[i]))) : 80;
    return at < 0 || room < 30
      ? 0
      : (at - (aside.length - 1) / 2) * Math.min(DODGE, room / (aside.length + 2));
  }
  function draws(parent, s, place, all) {
    const { X, Y, y0, y1 } = place,
      group = add(parent, "g", { class: "s-" + s.s });
    if (s.draw === "line" || s.draw === "steps")
      return add(group, "path", { class: "line", d: path(s, span(), X, Y) });
    if (s.draw === "bars" || s.draw === "columns")
      return add(group, "path", { class: s.draw, d: bars(s, span(), X, Y) });
    const [first, last] = visible(s, span());
    if (s.draw === "ticks") {
      const tall = s.tall ?? 10, // from above if negative
        foot = tall > 0 ? y1 : y0;
      let d = "";
      for (let i = first; i < last; i++) d += `M${X(xAt(s, i)).toFixed(1)} ${foot}v${-tall}`;
      add(group, "path", { class: "interval", d });
      return;
    }
    if (s.draw === "dots") {
      let d = ""; // one path: a line of no length is a dot
      for (let i = first, every = Math.ceil((last - first) / 3000); i < last; i += every) {
        if (s.y[i] == null) continue;
        const [x, y] = [X(xAt(s, i)), Y(s.y[i])];
        if (STROKES[s.mark]) mark(group, s, x, y);
        else d += `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
      }
      add(group, "path", { class: "dots", d });
      return;
    }
    const aside = dodge(s, all, place),
      beside = (x) => X(x) + Math.max(0, ...all.map((one) => dodge(one, all, place))) + 7,
      known = s.x.map((_, i) => i).filter((i) => i >= first && i < last && s.y[i] != null);
    if (s.draw === "points" && spec.x.kind !== "category" && known.length > 1)
      add(group, "path", {
        class: s.id || s.s === "predict" ? "line" : "line pale",
        d:
          "M" +
          known.map((i) => (X(s.x[i]) + aside).toFixed(1) + " " + Y(s.y[i]).toFixed(1)).join("L"),
      });
    for (const i of known) {
      const a = X(s.x[i]) + aside,
        inside = (v) => Math.max(y0 - 6, Math.min(y1, v));
      for (const run of (s.runs && s.runs[i]) || []) dot(group, s, a, Y(run), 2.2);
      if (s.half && s.half[i]) {
        const up = inside(Y(s.y[i] + s.half[i])),
          low = s.y[i] - s.half[i];
        const down = spec.y.kind === "log" && low <= 0 ? y1 : inside(Y(low));
        const ends = [up, down].map((v) => `M${(a - 3.5).toFixed(1)} ${v.toFixed(1)}h7`).join("");
        add(group, "path", {
          class: "interval",
          d: `M${a.toFixed(1)} ${up.toFixed(1)}V${down.toFixed(1)}${ends}`,
        });
      }
      if (s.mark) mark(group, s, a, Y(s.y[i]));
      // beside the marks of the others, which are drawn over it
      if (s.doubts && s.doubts[i])
        add(group, "text", { x: beside(s.x[i]), y: Y(s.y[i]) - 5 }, "?");
    }
  }
  function note(n, place) {
    // a difference, written beside the two marks
    const right = place.X(n.x) + 34,
      a = place.Y(n.from),
      b = place.Y(n.to);
    const left = right + 8 + 7 * Math.max(...n.text.map((t) => t.length)) > place.x1,
      at = left ? place.X(n.x) - 34 : right;
    add(svg, "path", {
      class: "bracket",
      d: `M${at - 4} ${a}h8M${at} ${a}V${b}M${at - 4} ${b}h8`,
    });
    n.text.forEach((t, k) =>
      add(
        svg,
        "text",
        {
          class: "note",
          x: at + (left ? -9 : 9),
          y: (a + b) / 2 + k * 15 - 3,
          "text-anchor": left ? "end" : "start",
        },
        t,
      ),
    );
  }
  function read(s, value, { X, Y }) {
    // the value of a series at the cursor, and its position; nothing where it has none
    const i = Math.min(size(s) - 1, position(s, value));
    if (!timed || xAt(s, i) === value) return xAt(s, i) === value ? [s.y[i], i] : [];
    if (s.draw === "steps") return [s.y[Math.max(0, xAt(s, i) > value ? i - 1 : i)], i];
    if (!spec.x.snaps) return [s.y[i], i];
    // along a curve: what is drawn there; a mark only where it stands
    if (s.draw !== "line" || i === 0 || xAt(s, i) < value) return [];
    const [a, b] = [X(xAt(s, i - 1)), X(xAt(s, i))],
      share = (X(value) - a) / (b - a || 1);
    if (s.y[i] == null || s.y[i - 1] == null) return [];
    return [Y.inverse(Y(s.y[i - 1]) * (1 - share) + Y(s.y[i]) * share), i];
  }
  /* The cursor: one value of x through all panels of linked figures, the numbers of one panel. */
  const point = (value, aloud) => {
    for (const one of figures)
      if (one.link === link) one.show(value, panel, aloud && one.frame === frame);
  };
  function show(value, number, aloud) {
    cursor = value;
    panel = number;
    tip.hidden = value == null || tell != null;
    for (const { cross, X } of places) {
      cross.style.visibility = value == null ? "hidden" : "visible";
      if (value != null) {
        cross.setAttribute("x1", X(value));
        cross.setAttribute("x2", X(value));
      }
    }
    const place = places[panel] || places[0];
    if (!place) return;
    const values =
      value == null
        ? []
        : shown(place.p)
            .filter((s) => s.draw !== "ticks")
            .map((s) => [s, ...read(s, value, place)])
            .filter(([, y]) => y != null);
    const keyOf = (s) => keys.find((key) => own(key) === own(s));
    if (tell) tell(value, values.map(([s, y]) => [keyOf(s), y]));
    if (tell || value == null) return;
    tip.replaceChildren();
    const name = spec.x.ticks
      ? (spec.x.ticks.find((t) => t[0] === value) || [0, written(value)])[1]
      : spec.x.snaps
        ? signed(String(+value.toPrecision(5)))
        : written(value);
    const where = timed ? `${name} ${spec.x.unit ?? "s"}`.trim() : name;
    html(tip, "b", "", [place.p.title, where].filter(Boolean).join(", "));
    const band = (place.p.bands || []).find((b) => b[0] <= value && value < b[1]);
    if (band) html(tip, "p", "", band[3]);
    const table = html(tip, "table");
    for (const [s, y, i] of values) {
      const row = html(table, "tr"),
        key = keyOf(s),
        number = written(y, s.half && s.half[i]) + (s.doubts && s.doubts[i] ? "?" : "");
      sample(html(row, "td"), key);
      html(row, "td", "", [key.name, key.of].filter(Boolean).join(" "));
      for (const text of [`${number} ${spec.y.unit}`, (s.notes && s.notes[i]) || ""])
        html(row, "td", "number", text);
    }
    const x = place.X(value),
      over = frame.clientWidth;
    tip.style.left =
      Math.max(0, x + 14 + tip.offsetWidth > over ? x - 14 - tip.offsetWidth : x + 14) + "px";
    tip.style.top = place.y0 + 4 + "px";
    if (aloud)
      spoken.textContent = [...tip.querySelectorAll("b,p,tr")]
        .map((one) => one.textContent)
        .join("; ");
  }
  const ends = () => {
    // first and last of the listed values in view
    const [from, to] = timed ? span() : [-Infinity, Infinity];
    return [xs.findIndex((v) => v >= from), xs.findLastIndex((v) => v <= to)];
  };
  const nearest = ({ X }, pixel) =>
    timed && !xs.length
      ? Math.max(span()[0], Math.min(span()[1], X.inverse(pixel)))
      : xs.reduce(
          (best, v) => (Math.abs(X(v) - pixel) < Math.abs(X(best) - pixel) ? v : best),
          xs[0],
        );
  const spot = (event) => {
    const r = svg.getBoundingClientRect();
    return [event.clientX - r.left, event.clientY - r.top];
  };
  svg.onpointermove = (event) => {
    const [x, y] = spot(event);
    if (drag) {
      drag.to = Math.max(drag.place.x0, Math.min(drag.place.x1, x));
      drag.rect.setAttribute("x", Math.min(drag.from, drag.to));
      drag.rect.setAttribute("width", Math.abs(drag.to - drag.from));
      return;
    }
    const at = places.findIndex(
      (q) => x >= q.x0 - 14 && x <= q.x1 + 14 && y >= q.y0 - 20 && y <= q.y1 + 30,
    );
    if (at < 0) return point(null);
    panel = at;
    point(nearest(places[at], x));
  };
  svg.onpointerdown = (event) => {
    const [x, y] = spot(event),
      place = places.find((q) => x >= q.x0 && x <= q.x1 && y >= q.y0 && y <= q.y1);
    if (!timed || !place || event.button) return;
    drag = {
      place,
      from: x,
      rect: add(svg, "rect", {
        class: "drag",
        x,
        y: place.y0,
        width: 0,
        height: place.y1 - place.y0,
      }),
    };
    svg.setPointerCapture(event.pointerId);
  };
  svg.onpointerup = () => {
    if (!drag) return;
    const { place, from, to, rect } = drag;
    drag = null;
    rect.remove();
    if (to != null && Math.abs(to - from) > 6)
      zoom([from, to].sort((a, b) => a - b).map(place.X.inverse));
  };
  svg.ondblclick = () => zoom(null);
  svg.onblur = svg.onpointerleave = (event) => {
    if (event.type === "blur" || (!drag && document.activeElement !== svg)) point(null);
  };
  svg.onkeydown = (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") {
      point(null);
      if (spans[link]) zoom(null);
      return;
    }
    if (event.key === "ArrowUp" || event.key === "ArrowDown")
      panel = (panel + (event.key === "ArrowDown" ? 1 : places.length - 1)) % places.length;
    else if (timed && "+-".includes(event.key)) {
      const [{ X, x0, x1 }] = places,
        half = (x1 - x0) * (event.key === "+" ? 0.25 : 1),
        middle = cursor == null ? (x0 + x1) / 2 : X(cursor);
      const to = [
        Math.max(spec.x.span[0], X.inverse(middle - half)),
        Math.min(spec.x.span[1], X.inverse(middle + half)),
      ];
      zoom(to[0] <= spec.x.span[0] && to[1] >= spec.x.span[1] ? null : to);
    } else if (!(event.key in moves)) return;
    event.preventDefault();
    const move = moves[event.key] || 0,
      stands = xs.length > 0,
      [a, b] = stands ? ends() : span(),
      step = (stands ? 1 : (b - a) / 100) * (event.shiftKey ? 10 : 1);
    const from = stands ? xs.indexOf(cursor) : cursor,
      to = cursor == null ? a : Math.max(a, Math.min(b, move ? from + move * step : from));
    point(stands ? xs[to] : to, true);
  };
  new ResizeObserver(() => {
    if (Math.round(frame.clientWidth) !== width) draw();
  }).observe(frame);
  const has = (series) => keys.some((key) => own(key) === series);
  figures.push({ draw, show, link, frame, has });
  draw();
  return {
    update(next) {
      const before = JSON.stringify(keys);
      spec = next;
      keys = spec.keys;
      xs = listed();
      if (JSON.stringify(keys) !== before) offer();
      draw(width || undefined); // to ask for the width would lay out the page for each figure
    },
  };
}

// Draws the figures of a page, whose data is in its element `figures`.
export function drawPage() {
  const data = JSON.parse(document.getElementById("figures").textContent);
  for (const [id, { keys }] of Object.entries(data))
    for (const key of keys) if (key.off) off.add(named(id, key));
  for (const box of document.querySelectorAll("[data-figure]"))
    figure(box, data[box.dataset.figure]);
}
