// Means over replicates with 95 % confidence intervals, as a table and as a sentence.

const METRICS = [
  ["goodput", "Goodput", "Mbit/s"],
  ["utilisation", "Utilisation", "%"],
  ["rtt", "RTT", "ms"],
  ["queueing", "Queueing", "ms"],
  ["retransmitted", "Retransmitted", "%"],
  ["jain", "Jain’s index", ""],
];
export const MOST_REPLICATES = 20;

// Student's t at 97.5 % for 1 to 19 degrees of freedom.
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093,
];

// Returns mean and half-width of the interval; the latter is NaN for one value.
export function interval(values) {
  const known = values.filter(Number.isFinite);
  const n = known.length;
  const mean = known.reduce((sum, value) => sum + value, 0) / n;
  if (n < 2) return { mean, half: NaN };
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  return { mean, half: T[Math.min(n, T.length + 1) - 2] * Math.sqrt(variance / n) };
}

const FIGURES = 5; // most significant digits

// Returns a number with two significant digits of its interval, four of its own without one.
export function words({ mean, half }, signed = false) {
  if (!Number.isFinite(mean)) return ["–", ""];
  const exact = half === 0 || !Number.isFinite(half);
  const scale = exact ? Math.abs(mean) : half;
  const digits = scale > 0 ? Math.floor(Math.log10(scale)) : 0;
  const most = FIGURES - 1 - (mean ? Math.max(-2, Math.floor(Math.log10(Math.abs(mean)))) : 0);
  const decimals = Math.max(0, Math.min(most, (exact ? 3 : 1) - digits));
  const number = mean.toFixed(decimals);
  const zero = Number(number) === 0;
  const sign = zero ? "" : mean < 0 ? "−" : signed ? "+" : "";
  return [
    sign + number.replace("-", ""),
    Number.isFinite(half) ? `± ${half.toFixed(decimals)}` : "",
  ];
}

const cell = (tag, ...children) => {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
};

function value(found, signed = false) {
  const [number, half] = words(found, signed);
  const made = cell("td", number);
  if (half) made.append(" ", cell("i", half));
  if (signed && Number.isFinite(found.half) && Math.abs(found.mean) > found.half)
    made.className = "exceeds";
  return made;
}

const of = (runs, name) => runs.map((metrics) => metrics[name]);

// Fills the table: a row for each side, for their difference, pair by pair, and for Linux.
export function fill(table, sides) {
  const count = Math.max(0, ...sides.map(({ runs }) => runs.length));
  const shown = METRICS.filter(([name]) =>
    sides.some(({ runs }) => of(runs, name).some(Number.isFinite)),
  );
  const head = cell("tr", cell("th", cell("small", `${count} of ${MOST_REPLICATES} runs`)));
  for (const [, title, unit] of shown) head.append(cell("th", `${title} `, cell("small", unit)));
  const rows = sides.map(({ name, label, runs }) => {
    const mark = cell("b", name);
    mark.className = name;
    return cell(
      "tr",
      cell("th", mark, label),
      ...shown.map(([key]) => value(interval(of(runs, key)))),
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
        ...shown.map(([key]) => value(interval(differences(key)), true)),
      ),
    );
  }
  table.replaceChildren(cell("thead", head), cell("tbody", ...rows));
}

// Returns the answer in words.
export function sentence(sides) {
  const means = sides.map(
    ({ runs }) =>
      (key) =>
        interval(of(runs, key)).mean,
  );
  const [a, b] = means;
  const { hop } = sides[0];
  const busy = (mean) => `${Math.round(mean("utilisation"))} %`;
  const ms = (mean) => `${mean("queueing") < 1 ? "less than 1" : Math.round(mean("queueing"))} ms`;
  const goodput = (mean) => `${words({ mean: mean("goodput"), half: NaN })[0]} Mbit/s`;
  if (!hop) return `The flows get ${goodput(a)}${b ? `, and ${goodput(b)} on side B` : ""}.`;
  const found = [busyWords(sides, busy, means)];
  if (means.every((mean) => Number.isFinite(mean("queueing")))) {
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
