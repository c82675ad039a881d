// Means over replicates with 95 % confidence intervals, as a table and as a sentence.

import { written } from "./figures.js";

export const MOST_REPLICATES = 20;

// Returns mean and half-width of the interval; the latter is NaN for one value. `student` has the
// quantiles for 1, 2, … degrees of freedom.
export function interval(values, student) {
  const known = values.filter(Number.isFinite);
  const n = known.length;
  const mean = known.reduce((sum, value) => sum + value, 0) / n;
  if (n < 2) return { mean, half: NaN };
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  return { mean, half: student[n - 2] * Math.sqrt(variance / n) };
}

const cell = (tag, ...children) => {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
};

function value({ mean, half }, signed = false) {
  const [number, spread] = (Number.isFinite(mean) ? written(mean, half) : "–").split(" ± ");
  const made = cell("td", signed && mean > 0 && Number(number) ? `+${number}` : number);
  if (spread) made.append(" ", cell("i", `± ${spread}`));
  if (signed && Math.abs(mean) > half) made.className = "exceeds";
  return made;
}

const of = (runs, name) => runs.map((metrics) => metrics[name]);

// Fills the table: a row for each side, for their difference, pair by pair, and for Linux.
export function fill(table, sides, { metrics, student }) {
  const count = Math.max(0, ...sides.map(({ runs }) => runs.length));
  const shown = metrics.filter(({ name }) =>
    sides.some(({ runs }) => of(runs, name).some(Number.isFinite)),
  );
  const head = cell("tr", cell("th", cell("small", `${count} of ${MOST_REPLICATES} runs`)));
  for (const { label, unit } of shown) head.append(cell("th", `${label} `, cell("small", unit)));
  const rows = sides.map(({ name, label, runs }) => {
    const mark = cell("b", name);
    mark.className = name;
    return cell(
      "tr",
      cell("th", mark, label),
      ...shown.map(({ name: key }) => value(interval(of(runs, key), student))),
    );
  });
  const [a, b] = ["A", "B"].map((wanted) => sides.find(({ name }) => name === wanted)?.runs);
  if (b) {
    const both = Math.min(a.length, b.length);
    const differences = (key) => a.slice(0, both).map((one, at) => b[at][key] - one[key]);
    rows.splice(
      2,
      0,
      cell(
        "tr",
        cell("th", "B − A"),
        ...shown.map(({ name }) => value(interval(differences(name), student), true)),
      ),
    );
  }
  table.replaceChildren(cell("thead", head), cell("tbody", ...rows));
}

// Returns the answer in words.
export function sentence(sides, { metrics, student }) {
  const means = sides.map(
    ({ runs }) =>
      (key) =>
        interval(of(runs, key), student).mean,
  );
  const [a, b] = means;
  const { hop } = sides[0];
  const busy = (mean) => `${Math.round(mean("utilisation"))} %`;
  const ms = (mean) => {
    const delay = mean("queueing_delay");
    return `${delay < 1 ? "less than 1" : Math.round(delay)} ms`;
  };
  const { unit } = metrics.find(({ name }) => name === "goodput");
  const goodput = (mean) => `${written(mean("goodput"))} ${unit}`;
  if (!hop) return `The flows get ${goodput(a)}${b ? `, and ${goodput(b)} on side B` : ""}.`;
  const found = [busyWords(sides, busy, means)];
  if (means.every((mean) => Number.isFinite(mean("queueing_delay")))) {
    found.push(queueingWords(ms, means));
  }
  return found.join(" ");
}

function busyWords([{ hop }, other], busy, [a, b]) {
  if (!b) return `The flows keep ${hop} ${busy(a)} busy.`;
  if (other.hop === hop && busy(a) === busy(b)) return `Both sides keep ${hop} ${busy(a)} busy.`;
  return `A keeps ${hop} ${busy(a)} busy, B ${other.hop === hop ? "" : `${other.hop} `}${busy(b)}.`;
}

function queueingWords(ms, [a, b]) {
  if (!b) return `Queueing there takes ${ms(a)} on average.`;
  if (ms(a) === ms(b)) return `Queueing takes ${ms(a)} on both.`;
  return `Queueing takes ${ms(a)} with A and ${ms(b)} with B.`;
}
