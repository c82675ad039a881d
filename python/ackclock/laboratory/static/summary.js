// Tables of a run as metrics and as curves, in the worker: the page draws and no more.

import { at, evaluate, rowsOf } from "./formula.js";

const MOST_POINTS = 4_000;
const MOST_CURVES = 3;
const BINS = 100;

// Returns {metrics, curves, hop} of a run; `resolved` is the scenario with all defaults.
export function summary(tables, resolved, definitions) {
  const run = runOf(tables, resolved, definitions);
  const hop = busiest(run, resolved, definitions);
  const metrics = definitions.metrics.map(({ name, scale, formula }) => [
    name,
    formula.kind === "jain" && tables.flows.flow.indices.length < 2
      ? NaN // nobody to share with
      : evaluate(formula, run, formula.table === "hops" ? hop : undefined) * scale,
  ]);
  return {
    hop,
    metrics: Object.fromEntries(metrics),
    curves: curves(tables, hop, resolved, definitions),
  };
}

// Returns what formulas are evaluated of.
export function runOf(tables, resolved, { uncontrolled }) {
  const warmup = seconds(resolved.warmup);
  const arriving = resolved.flows.filter((flow) => flow.arrivals).map(({ name }) => name);
  const measured = seconds(resolved.duration) - warmup;
  return { tables, warmup, measured, arriving: new Set(arriving), uncontrolled };
}

const UNITS = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

// Returns a resolved time in seconds; 0 for none.
export function seconds(text) {
  const [number, unit] = String(text ?? "0 s").split(" ");
  return Number(number) * (UNITS[unit] ?? 1);
}

// Returns the name of the hop of the data's routes with the highest utilisation; empty for none.
function busiest(run, resolved, { metrics }) {
  const { formula } = metrics.find(({ name }) => name === "utilisation");
  const names = new Set(resolved.flows.flatMap((flow) => flow.route));
  const hops = run.tables.hops.hop.words.filter((name) => names.has(name));
  const shares = hops.map((name) => evaluate(formula, run, name));
  const most = shares.reduce((a, b) => (b <= a ? a : b), NaN);
  return hops[shares.indexOf(most)] ?? "";
}

// Returns the curves of each figure, {flow, label, words, part, form, x, y}, and as events the
// reactions of senders, {time, kind}.
function curves(tables, hop, resolved, { figures, far }) {
  const { samples, hops, events } = tables;
  const drawn = Object.fromEntries(figures.map(({ name }) => [name, []]));
  const draw = (wanted, flow, trace) => {
    for (const { name, table, traces } of figures.filter((figure) => figure.table === wanted)) {
      const known = traces.filter(({ column }) => tables[table][column]);
      const all = known.map((own) => {
        const { label: words, part, form, is_near: isNear } = own;
        return { flow, words, part, form, isNear, ...trace(own) };
      });
      const most = far * all.find(({ part }) => !part).y.reduce((a, b) => (b > a ? b : a), 0);
      for (const { isNear, ...curve } of all) {
        if (isNear) curve.y = curve.y.map((value) => (value <= most ? value : null));
        if (!curve.part || curve.y.some(Number.isFinite)) drawn[name].push(thinned(curve));
      }
    }
  };
  const column = (table, name, rows, scale) => rows.map((row) => at(table[name], row) * scale);
  const duration = seconds(resolved.duration);
  for (const [index, flow] of resolved.flows.slice(0, MOST_CURVES).entries()) {
    const all = rowsOf(samples.flow, flow.name);
    if (!all.length) continue;
    const instance = at(samples.instance, all[0]);
    const rows = all.filter((row) => at(samples.instance, row) === instance);
    const label = flow.count > 1 ? `${flow.name}, the first of ${flow.count}` : flow.name;
    const x = column(samples, "time_s", rows, 1);
    const interval = seconds(resolved.sample_interval);
    draw("samples", index, ({ column: name, scale, is_rate: isRate, per_segment: perSegment }) =>
      isRate
        ? { label: flow.name, ...rates(samples, all, name, scale, duration, interval) }
        : {
            label,
            x,
            y: column(samples, name, rows, perSegment ? scale / segmentOf(flow) : scale),
          },
    );
  }
  const rows = rowsOf(hops.hop, hop);
  const x = column(hops, "time_s", rows, 1);
  if (rows.length)
    draw("hops", 0, ({ column: name, scale }) => ({
      label: hop,
      x,
      y: column(hops, name, rows, scale),
    }));
  drawn.events = reactions(events, duration);
  return drawn;
}

// What a sender reacted to, by the name of the event; other events are no reactions.
const CAUSES = {
  ecn_echo: "mark",
  fast_retransmit: "loss",
  probe_recovery: "loss",
  reduction: "loss",
  timeout: "timeout",
};

// Returns reactions as {time, kind}: of each kind one in each thousandth of the run, which is less
// than a pixel.
function reactions({ kind, time_s }, duration) {
  const shown = new Map();
  for (const [row, index] of kind.indices.entries()) {
    const cause = CAUSES[kind.words[index]];
    const time = at(time_s, row);
    const key = `${cause} ${Math.floor((1e3 * time) / duration)}`;
    if (cause && !shown.has(key)) shown.set(key, { time, kind: cause });
  }
  return [...shown.values()];
}

// Returns the payload of a full segment of a flow, in bytes.
const segmentOf = ({ transport }) => transport.facts?.mss_bytes ?? NaN;
// Returns the growth of a column, of all instances of a flow, per second in bins of whole sampling
// intervals.
function rates(samples, rows, name, scale, duration, interval) {
  const width = interval * Math.max(1, Math.round(duration / interval / BINS));
  const bins = new Float64Array(Math.max(1, Math.floor(duration / width)));
  const last = new Map();
  for (const row of rows) {
    const instance = at(samples.instance, row);
    const count = at(samples[name], row);
    const bin = Math.max(0, Math.ceil(at(samples.time_s, row) / width - 1e-6) - 1);
    if (bin < bins.length) bins[bin] += count - (last.get(instance) ?? 0);
    last.set(instance, count);
  }
  // A bin is drawn at its end; the axis begins at 0 as those of the other figures.
  const x = [0, ...[...bins.keys()].map((bin) => (bin + 1) * width)];
  return { x, y: [null, ...[...bins].map((count) => (count * scale) / width)] };
}

// Replaces what is unknown by null. Keeps minimum and maximum of each stretch of a long curve, or
// losses would vanish.
export function thinned(given) {
  const curve = { ...given, y: given.y.map((value) => (Number.isFinite(value) ? value : null)) };
  const { x, y } = curve;
  if (x.length <= MOST_POINTS) return curve;
  const stretch = Math.ceil((2 * x.length) / MOST_POINTS);
  const kept = [];
  for (let begin = 0; begin < x.length; begin += stretch) {
    let [low, high] = [begin, begin];
    for (let row = begin; row < Math.min(x.length, begin + stretch); row++) {
      if (!(y[row] >= y[low])) low = row;
      if (!(y[row] <= y[high])) high = row;
    }
    kept.push(...(low === high ? [low] : [Math.min(low, high), Math.max(low, high)]));
  }
  return { ...curve, x: kept.map((row) => x[row]), y: kept.map((row) => y[row]) };
}
