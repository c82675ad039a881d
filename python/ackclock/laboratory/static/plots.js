// Figures over time of the sides: their curves as data for figures.js, and as tables.

import { figure } from "./figures.js";

const HEIGHT = 118;
const OF_AXIS = 18; // more for that with the numbers of the time axis
const LOOKS = 3; // of flows
const TALL = { mark: 3, loss: 6, timeout: 11 };
const TICKS = "Ticks are reactions to losses, short ones to marks, long ones timeouts.";

const shown = (value, digits) => String(Number(value.toPrecision(digits))).replace("-", "−");

// The figures of a page, in `box`. `sides` of draw are {name, curves, limits, warmup, duration}.
export class Figures {
  constructor(box, readout, pick) {
    this.box = box;
    this.readout = readout;
    this.pick = pick;
    this.kinds = []; // descriptions, as Python makes them
    this.plots = new Map();
    this.chosen = "";
    this.sides = [];
    this.names = [];
    this.time = null; // at the cursor
  }

  draw(sides, names) {
    this.sides = sides;
    const all = this.kinds.map(({ name }) => name);
    this.names = all.filter((name) => !names.length || names.includes(name));
    for (const kind of this.kinds) {
      if (!this.plots.has(kind.name)) this.#make(kind);
      const plot = this.plots.get(kind.name);
      plot.holder.hidden = plot.button.hidden = !this.names.includes(kind.name);
      if (plot.holder.hidden) continue;
      this.#head(kind, plot, []);
      const spec = this.#spec(kind);
      if (plot.drawn) plot.drawn.update(spec);
      else plot.drawn = figure(plot.frame, spec, (time, values) => this.#tell(kind, time, values));
    }
    this.#choose(this.names.includes(this.chosen) ? this.chosen : this.names[0]);
    if (this.time == null) this.readout.textContent = this.#hint();
  }

  #make({ name, title }) {
    const [holder, head, frame] = ["div", "div", "div"].map((tag) => document.createElement(tag));
    holder.className = "figure";
    holder.dataset.name = name;
    head.className = "fighead";
    frame.dataset.figure = name;
    holder.append(head, frame);
    this.box.append(holder);
    const button = word("button", title.replace("Congestion w", "W"));
    Object.assign(button, { type: "button", onclick: () => this.#choose(name) });
    button.dataset.name = name;
    this.pick.append(button);
    this.plots.set(name, { holder, head, frame, button, drawn: null });
  }

  #choose(name) {
    this.chosen = name;
    for (const [own, { holder, button }] of this.plots) {
      button.setAttribute("aria-pressed", String(own === name));
      holder.classList.toggle("chosen", own === name);
    }
  }

  // Returns the curves of a figure, each with its side.
  #curves(name) {
    return this.sides.flatMap((side) =>
      side.curves[name].map((curve) => ({ ...curve, side: side.name })),
    );
  }

  #spec({ name, title, unit, begin }) {
    const limits = this.sides.flatMap((side) => this.#limits(side, name));
    const curves = this.#curves(name).map((curve, index) => ({
      ...curve,
      id: String(index),
      s: `${curve.side} flow-${curve.flow % LOOKS}${curve.part ? " aside" : ""}`,
      draw: curve.form,
      aside: Boolean(curve.part),
    }));
    const ticks = name === "cwnd" ? this.sides.flatMap(ticksOf) : [];
    const warmup = Math.max(0, ...this.sides.map((side) => side.warmup));
    const isLast = name === this.names.at(-1);
    return {
      title,
      description: this.#curves(name).map(fullName).join(", "),
      height: HEIGHT + (isLast ? OF_AXIS : 0),
      top: 6,
      bottom: isLast ? 24 : 6,
      columns: 1,
      x: { kind: "time", label: "", span: [0, this.sides[0].duration] },
      // An axis with a lower limit begins there.
      y: { kind: "linear", unit, zero: begin === 0 && !limits.some(({ low }) => low), warmup },
      link: "time",
      keys: curves.map(({ x, y, ...curve }) => ({ ...curve, name: fullName(curve) })),
      panels: [{ title: "", series: [...curves, ...ticks], limits, shade: [0, warmup] }],
    };
  }

  #limits({ limits, predictions }, name) {
    const limit = limits[name];
    const known = limit && Number.isFinite(limit.value);
    return [
      ...(known ? [{ y: limit.value, text: "", low: limit.low }] : []),
      ...(predictions?.[name] ?? []).map((value) => ({ y: value, text: "", look: "predicted" })),
    ];
  }

  // Writes the values at the cursor, or nothing of them without it.
  #tell(kind, time, values) {
    this.time = time;
    this.#head(kind, this.plots.get(kind.name), values);
    this.readout.textContent =
      time == null
        ? this.#hint()
        : `Cursor at ${shown(time, 4)} s. Arrow keys move it, Shift further, Escape removes it.`;
  }

  // Writes title, unit, and limit or why there is nothing, and values.
  #head({ name, title, unit, table, absent }, { head }, values) {
    const { hop, limits } = this.sides[0];
    const isAbsent = table === "hops" && !hop;
    const { label, value } = limits[name] ?? {};
    const notes = [
      isAbsent ? `unknown: ${absent}` : table === "hops" ? `${unit} at ${hop}` : unit,
      Number.isFinite(value) ? `dotted: ${label} ${shown(value, 3)}` : "",
    ];
    const isOneFlow = new Set(this.#curves(name).map(({ flow }) => flow)).size < 2;
    head.replaceChildren(
      word("b", title),
      word("span", notes.filter(Boolean).join(" · "), "mute"),
      ...values.map(([{ side, words, part, ...key }, y]) =>
        word("b", `${part ? words : isOneFlow ? side : key.label} ${shown(y, 3)}`, side),
      ),
    );
  }

  #hint() {
    const flows = new Set(this.sides[0].curves[this.kinds[0].name].map(({ label }) => label));
    const lines = ["solid", "dashed", "dotted"];
    const words = [...flows].map((label, place) => `${lines[place]}: ${label}`).join(", ");
    return [
      flows.size > 1 ? `Lines are ${words}.` : "",
      "Run 1 is drawn.",
      this.names.includes("cwnd") ? TICKS : "",
      "Means leave out the shaded time. Drag to zoom, double-click to undo it.",
    ]
      .filter(Boolean)
      .join(" ");
  }

  // Returns the drawn curves as rows of CSV.
  csv() {
    const rows = ["side,figure,unit,curve,time_s,value"];
    for (const { name, unit } of this.kinds) {
      for (const { side, x, y, ...curve } of this.#curves(name)) {
        const label = csvCell(nameOf(curve));
        x.forEach((time, row) => rows.push([side, name, unit, label, time, y[row]].join(",")));
      }
    }
    return `${rows.join("\n")}\n`;
  }

  // Returns, at about twenty times, the values of a figure's curves.
  table(name) {
    const curves = this.#curves(name);
    const times = curves[0]?.x ?? [];
    const every = Math.max(1, Math.floor(times.length / 20));
    const shown = times.filter((_, row) => row % every === 0);
    return {
      head: ["time in s", ...curves.map(fullName)],
      rows: shown.map((time) => [time, ...curves.map((curve) => valueAt(curve, time))]),
    };
  }
}

// Returns a text as a cell of CSV, which no spreadsheet runs: as `csv_text` in Python.
function csvCell(text) {
  const harmless = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}

const nameOf = ({ label, words }) => [label, words].filter(Boolean).join(" ");
const fullName = ({ side, ...curve }) => `${side}: ${nameOf(curve)}`;

// Reactions to marks, losses and timeouts: side A from below, side B from above.
function ticksOf({ name, curves }) {
  return Object.entries(TALL).map(([kind, tall]) => {
    const x = curves.events.filter((event) => event.kind === kind).map(({ time }) => time);
    const y = x.map(() => 0);
    return { s: "events", draw: "ticks", x, y, tall: name === "A" ? tall : -tall };
  });
}

// Returns the last known value of a curve until a time.
function valueAt({ x, y }, time) {
  for (let row = x.findLastIndex((own) => own <= time); row >= 0; row--) {
    if (Number.isFinite(y[row])) return y[row];
  }
  return NaN;
}

function word(tag, text, style = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (style) made.className = style;
  return made;
}
