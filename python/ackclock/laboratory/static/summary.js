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
    evaluate(formula, run, formula.table === "hops" ? hop : undefined) * scale,
  ]);
  return { hop, metrics: Object.fromEntries(metrics), curves: curves(tables, hop, resolved) };
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

// Returns the curves of each figure: {label, x, y}, and events: times of losses and of timeouts.
function curves(tables, hop, resolved) {
  const { samples, hops, events } = tables;
  const found = { cwnd: [], queue: [], rtt: [], goodput: [] };
  const duration = seconds(resolved.duration);
  for (const flow of resolved.flows.slice(0, MOST_CURVES)) {
    const all = rowsOf(samples.flow, flow.name);
    if (!all.length) continue;
    const instance = at(samples.instance, all[0]);
    const rows = all.filter((row) => at(samples.instance, row) === instance);
    const label = flow.count > 1 ? `${flow.name}, the first of ${flow.count}` : flow.name;
    const mss = Number(String(flow.transport.mss ?? "1448 bytes").split(" ")[0]) || 1448;
    const x = rows.map((row) => at(samples.time_s, row));
    const y = (name, scale) => rows.map((row) => at(samples[name], row) * scale);
    found.cwnd.push(thinned({ label, x, y: y("cwnd_bytes", 1 / mss) }));
    const ssthresh = y("ssthresh_bytes", 1 / mss);
    if (ssthresh.some(Number.isFinite)) {
      found.cwnd.push(thinned({ label: `${label}: ssthresh`, x, y: ssthresh, faint: true }));
    }
    found.rtt.push(thinned({ label, x, y: y("rtt_s", 1e3) }));
    found.goodput.push(
      delivered(samples, all, flow.name, duration, seconds(resolved.sample_interval)),
    );
  }
  const rows = rowsOf(hops.hop, hop);
  if (rows.length)
    found.queue.push(
      thinned({
        label: hop,
        x: rows.map((row) => at(hops.time_s, row)),
        y: rows.map((row) => at(hops.backlog_packets, row)),
      }),
    );
  const kinds = events.kind.words;
  found.events = [...events.kind.indices.keys()]
    .map((row) => ({
      time: at(events.time_s, row),
      timeout: /timeout/.test(kinds[events.kind.indices[row]]),
    }))
    .slice(0, MOST_POINTS);
  return found;
}

// Returns the goodput of all instances of a flow, in bins of whole sampling intervals.
function delivered(samples, rows, label, duration, interval) {
  const width = interval * Math.max(1, Math.round(duration / interval / BINS));
  const bins = new Float64Array(Math.max(1, Math.floor(duration / width)));
  const last = new Map();
  for (const row of rows) {
    const instance = at(samples.instance, row);
    const bytes = at(samples.delivered_bytes, row);
    const bin = Math.max(0, Math.ceil(at(samples.time_s, row) / width - 1e-6) - 1);
    if (bin < bins.length) bins[bin] += bytes - (last.get(instance) ?? 0);
    last.set(instance, bytes);
  }
  // A bin is drawn at its end; the axis begins at 0 as those of the other figures.
  const x = [0, ...[...bins.keys()].map((bin) => (bin + 1) * width)];
  return { label, x, y: [null, ...[...bins].map((bytes) => (bytes * 8e-6) / width)] };
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
