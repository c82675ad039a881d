// Figures over time: one canvas each, one cursor and one zoom for all of them.

const FIGURES = [
  { name: "cwnd", title: "Congestion window", unit: "segments" },
  { name: "queue", title: "Queue", unit: "packets" },
  { name: "rtt", title: "RTT", unit: "ms" },
  { name: "goodput", title: "Goodput", unit: "Mbit/s" },
];
const DASHES = [[], [6, 3], [2, 3]];
const COLOURS = { A: "simulate", B: "other", Linux: "emulate" };
const OF_SIDE = { A: [], B: [8, 2], Linux: [6, 6] };
const HEIGHT = 132;
const KEY = "ackclock";
const TICKS = "Ticks are losses, long ones timeouts.";

const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const shown = (value, digits = 3) =>
  Number.isFinite(value) ? String(Number(value.toPrecision(digits))).replace("-", "−") : "–";

// The figures of a page, in `box`. `sides` of draw are {name, curves, limits, warmup, duration}.
export class Figures {
  constructor(box, readout, pick) {
    this.box = box;
    this.readout = readout;
    this.pick = pick;
    this.plots = [];
    this.chosen = "cwnd";
    this.sides = [];
    this.names = FIGURES.map(({ name }) => name);
    box.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#resize()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
  }

  // Draws the sides, in place if they have the same curves as those drawn.
  draw(sides, names) {
    this.sides = sides;
    if (names.length && names.join() !== this.names.join()) {
      this.names = names;
      this.plots.splice(0).forEach(({ plot }) => plot.destroy());
    }
    for (const figure of FIGURES.filter(({ name }) => this.names.includes(name)))
      this.#draw(figure);
    this.#tell();
  }

  rebuild() {
    this.plots.splice(0).forEach(({ plot }) => plot.destroy());
    this.box.replaceChildren();
    this.pick.replaceChildren();
    this.draw(this.sides, this.names);
  }

  #curves(name) {
    return this.sides.flatMap((side) => {
      const flows = new Map();
      return side.curves[name].map((curve) => {
        const own = curve.label.replace(": ssthresh", "");
        if (!flows.has(own)) flows.set(own, flows.size);
        return { ...curve, side: side.name, dash: DASHES[flows.get(own) % 3] };
      });
    });
  }

  #draw(figure) {
    const curves = this.#curves(figure.name);
    const key = curves.map(({ side, label }) => `${side} ${label}`).join();
    const data = curves.length ? uPlot.join(curves.map(({ x, y }) => [x, y])) : [[0]];
    let found = this.plots.find(({ name }) => name === figure.name);
    if (found && found.key !== key) {
      found.plot.destroy();
      found.holder.remove();
      this.plots.splice(this.plots.indexOf(found), 1);
      found = null;
    }
    if (found) {
      const zoomed = found.zoomed;
      found.plot.setData(data, !zoomed);
      if (zoomed) found.plot.redraw();
    } else {
      this.#make(figure, curves, key, data);
    }
  }

  #make(figure, curves, key, data) {
    const head = document.createElement("div");
    head.className = "fighead";
    const holder = document.createElement("div");
    holder.className = "figure";
    holder.dataset.name = figure.name;
    holder.append(head);
    const order = FIGURES.map(({ name }) => name);
    const after = [...this.box.children].find(
      (one) => order.indexOf(one.dataset.name) > order.indexOf(figure.name),
    );
    this.box.insertBefore(holder, after ?? null);
    const made = { name: figure.name, figure, key, holder, head, zoomed: false };
    made.plot = new uPlot(this.#options(made, curves), data, holder);
    this.plots.push(made);
    this.#offer(figure);
    this.#choose(this.chosen);
  }

  #options(made, curves) {
    const { figure } = made;
    const last = figure.name === this.names.at(-1);
    const axis = {
      stroke: colour("soft"),
      grid: { stroke: colour("faint"), width: 1 },
      font: "12px system-ui, sans-serif",
      ticks: { show: false },
    };
    return {
      width: Math.max(240, this.box.clientWidth),
      height: HEIGHT + (last ? 18 : 0),
      legend: { show: false },
      padding: [4, 22, 0, 0],
      cursor: { sync: { key: KEY }, drag: { x: true, y: false }, points: { size: 6 } },
      scales: {
        x: { time: false, range: (_, low, high) => [low, high] },
        y: { range: (_, low, high) => this.#range(figure.name, low, high) },
      },
      axes: [
        {
          ...axis,
          size: last ? 26 : 8,
          values: last
            ? (_, ticks) =>
                ticks.map((tick, at) => `${shown(tick, 6)}${at + 1 === ticks.length ? " s" : ""}`)
            : () => [],
        },
        { ...axis, size: 48, values: (_, ticks) => ticks.map((tick) => shown(tick, 4)) },
      ],
      series: [
        {},
        ...curves.map(({ side, faint, dash }) => ({
          stroke: () => colour(COLOURS[side]),
          width: faint ? 1 : 1.5,
          spanGaps: true,
          points: { show: false },
          dash: faint ? [1, 3] : dash.length ? dash : OF_SIDE[side],
        })),
      ],
      hooks: {
        drawClear: [(plot) => this.#shade(plot)],
        draw: [(plot) => this.#lines(plot, figure.name)],
        setCursor: [() => this.#tell()],
        setScale: [
          (plot, scale) => {
            if (scale === "x") made.zoomed = this.#isZoomed(plot);
          },
        ],
      },
    };
  }

  #isZoomed(plot) {
    const x = plot.data[0];
    return plot.scales.x.min > x[0] || plot.scales.x.max < x.at(-1);
  }

  // RTT begins at the RTT without queueing, all else at 0; a start beyond the rest is cut off.
  #range(name, low, high) {
    const limits = this.sides.map((side) => side.limits[name]?.value).filter(Number.isFinite);
    const after = this.sides.flatMap((side) =>
      side.curves[name]
        .filter(({ faint }) => !faint)
        .flatMap(({ x, y }) =>
          y.filter((value, at) => x[at] > side.warmup && Number.isFinite(value)),
        ),
    );
    const top = after.length ? after.reduce((a, b) => Math.max(a, b), 0) : (high ?? 1);
    const bottom =
      name === "rtt"
        ? Math.min(
            ...limits,
            ...(after.length ? [after.reduce((a, b) => Math.min(a, b), Infinity)] : [low ?? 0]),
          )
        : 0;
    const near = limits.filter((value) => value < 2.5 * top);
    const upper = Math.max(top, ...(name === "cwnd" ? [] : near), bottom + 1e-3);
    return [
      bottom - (name === "rtt" ? 0.05 * (upper - bottom) : 0),
      upper + 0.06 * (upper - bottom),
    ];
  }

  #shade(plot) {
    const warmup = Math.max(0, ...this.sides.map((side) => side.warmup));
    const { ctx, bbox } = plot;
    const end = plot.valToPos(warmup, "x", true);
    ctx.save();
    ctx.fillStyle = colour("wash");
    ctx.fillRect(
      bbox.left,
      bbox.top,
      Math.max(0, Math.min(end, bbox.left + bbox.width) - bbox.left),
      bbox.height,
    );
    ctx.restore();
  }

  #lines(plot, name) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const side of this.sides) {
      const ratio = devicePixelRatio;
      for (const { value, dash } of [
        side.limits[name] ?? {},
        ...(side.predictions?.[name] ?? []),
      ]) {
        if (!Number.isFinite(value)) continue;
        const y = plot.valToPos(value, "y", true);
        ctx.strokeStyle = colour(dash ? "ink" : "mute");
        ctx.setLineDash((dash ?? [2, 3]).map((one) => one * ratio));
        ctx.lineWidth = ratio;
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
      }
      if (name === "cwnd") this.#ticks(plot, side, ratio);
    }
    ctx.restore();
  }

  // Losses and timeouts: side A from below, side B from above; timeouts are longer.
  #ticks(plot, side, ratio) {
    const { ctx, bbox } = plot;
    ctx.setLineDash([]);
    ctx.strokeStyle = colour("emulate");
    ctx.lineWidth = 1.2 * ratio;
    ctx.beginPath();
    for (const { time, timeout } of side.curves.events) {
      const x = plot.valToPos(time, "x", true);
      const length = (timeout ? 11 : 5) * ratio;
      const from = side.name === "A" ? bbox.top + bbox.height : bbox.top;
      ctx.moveTo(x, from);
      ctx.lineTo(x, from + (side.name === "A" ? -length : length));
    }
    ctx.stroke();
  }

  #resize() {
    const width = this.box.clientWidth;
    for (const { plot } of this.plots) {
      if (width && width !== plot.width) plot.setSize({ width, height: plot.height });
    }
  }

  #offer({ name, title }) {
    if ([...this.pick.children].some((one) => one.dataset.name === name)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.name = name;
    button.textContent = title.replace("Congestion w", "W");
    button.addEventListener("click", () => this.#choose(name));
    this.pick.append(button);
  }

  #choose(name) {
    this.chosen = this.names.includes(name) ? name : this.names[0];
    for (const one of this.pick.children)
      one.setAttribute("aria-pressed", String(one.dataset.name === this.chosen));
    for (const { holder, name: own } of this.plots)
      holder.classList.toggle("chosen", own === this.chosen);
  }

  #key(event) {
    const [plot] = this.plots.filter(({ holder }) => holder.offsetParent).map((one) => one.plot);
    if (!plot) return;
    const { min, max } = plot.scales.x;
    const now = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : min;
    const step = ((max - min) / 200) * (event.shiftKey ? 10 : 1);
    const target = { ArrowLeft: now - step, ArrowRight: now + step, Home: min, End: max }[
      event.key
    ];
    if (target === undefined && event.key !== "Escape") return;
    event.preventDefault();
    const left =
      target === undefined ? -10 : plot.valToPos(Math.min(max, Math.max(min, target)), "x");
    for (const one of this.plots)
      one.plot.setCursor({ left, top: target === undefined ? -10 : 20 }, true, false);
  }

  // Writes titles, limits and, at the cursor, values.
  #tell() {
    let time = null;
    for (const { name, figure, head, plot } of this.plots) {
      const at = plot.cursor.idx;
      const isOn = at !== null && at !== undefined && plot.cursor.left >= 0;
      if (isOn) time = plot.data[0][at];
      const limit = this.sides[0]?.limits[name];
      const curves = this.#curves(name);
      const values = isOn
        ? curves.map(({ side, label, faint }, index) => ({
            side,
            text: [
              faint ? "ssthresh" : this.#several(name) ? label : side,
              shown(valueNear(plot.data, index + 1, at)),
            ].join(" "),
          }))
        : [];
      const hop = this.sides[0]?.hop;
      const where = hop
        ? `${figure.unit} at ${hop}`
        : "unknown: no flow's data passes a shared hop";
      const unit = name === "queue" ? where : figure.unit;
      const notes = [
        unit,
        limit && Number.isFinite(limit.value) ? `dotted: ${limit.label} ${shown(limit.value)}` : "",
      ];
      head.replaceChildren(
        word("b", figure.title),
        word("span", notes.filter(Boolean).join(" · "), "mute"),
        ...values.map(({ side, text }) => word("span", text, `at ${side}`)),
      );
    }
    this.readout.textContent =
      time === null
        ? this.#hint()
        : `Cursor at ${shown(time, 4)} s. Arrow keys move it, Shift further, Escape removes it.`;
  }

  #several(name) {
    return this.sides.some((side) => side.curves[name].filter(({ faint }) => !faint).length > 1);
  }

  #hint() {
    const ticks = this.names.includes("cwnd") ? TICKS : "";
    const words = ["Run 1 is drawn.", ticks, "Means leave out the shaded time.", "Drag to zoom."];
    return [this.#legend(), ...words].filter(Boolean).join(" ");
  }

  // Says which line is which flow, if there are several.
  #legend() {
    const flows = this.sides[0]?.curves.goodput.map(({ label }) => label) ?? [];
    const lines = ["solid", "dashed", "dotted"];
    const said = flows.map((label, at) => `${lines[at]}: ${label}`).join(", ");
    return flows.length > 1 ? `Lines are ${said}.` : "";
  }

  // Returns the drawn curves as rows of CSV.
  csv() {
    const rows = ["side,figure,unit,curve,time_s,value"];
    for (const { name, unit } of FIGURES) {
      for (const { side, label, x, y } of this.#curves(name)) {
        x.forEach((time, at) =>
          rows.push([side, name, unit, JSON.stringify(label), time, y[at]].join(",")),
        );
      }
    }
    return `${rows.join("\n")}\n`;
  }

  // Returns, at about twenty times, the values of a figure's curves.
  table(name) {
    const plot = this.plots.find((one) => one.name === name)?.plot;
    const times = plot?.data[0] ?? [];
    const every = Math.max(1, Math.floor(times.length / 20));
    const rows = [...times.keys()].filter((at) => at % every === 0);
    return {
      head: ["time in s", ...this.#curves(name).map(({ side, label }) => `${side}: ${label}`)],
      rows: rows.map((at) => [
        times[at],
        ...this.#curves(name).map((_, index) => valueNear(plot.data, index + 1, at)),
      ]),
    };
  }
}

// Returns a curve's value at a row, or the one before if it has none there.
function valueNear(data, curve, at) {
  for (let row = at; row >= 0; row--) {
    const value = data[curve]?.[row];
    if (value !== null && value !== undefined && Number.isFinite(value)) return value;
  }
  return NaN;
}

function word(tag, text, style = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (style) made.className = style;
  return made;
}
