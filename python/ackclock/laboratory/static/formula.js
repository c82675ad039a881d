// The formulas of ackclock.metrics (metrics/formula.py), of the tables of one run.

const SUBJECTS = { flows: "flow", samples: "flow", hops: "hop" };

export const at = (column, row) => Number(column[row]);

// Returns the rows whose column of words says `word`.
export function rowsOf(column, word) {
  const wanted = column.words.indexOf(word);
  const rows = [];
  for (let row = 0; row < column.indices.length; row++) {
    if (column.indices[row] === wanted) rows.push(row);
  }
  return rows;
}

// Returns the value of one flow or hop, or of all rows if there is no `subject`; NaN if unknown.
// A run is {tables, warmup, measured, arriving, uncontrolled}: times in s, the names of flows whose
// instances arrive, and the name of no control.
export function evaluate(formula, run, subject) {
  const table = run.tables[formula.table];
  const subjects = table[SUBJECTS[formula.table]];
  const isArriving = (row) => run.arriving.has(subjects.words[subjects.indices[row]]);
  let rows = subject === undefined ? [...subjects.indices.keys()] : rowsOf(subjects, subject);
  if (formula.kind === "growth") {
    const whole = grown(table, rows, formula.over, run.warmup);
    const growth = quantity(formula, (name) => grown(table, rows, name, run.warmup));
    return whole > 0 ? growth / whole : NaN;
  }
  if (formula.table !== "flows") rows = rows.filter((row) => at(table.time_s, row) > run.warmup);
  const over = (row) => at(table[formula.over], row);
  const ofRow = (row) => quantity(formula, (name) => at(table[name], row));
  if (formula.kind === "mean") {
    if (!formula.over) return mean(known(rows.map(ofRow)));
    return mean(known(rows.filter((row) => over(row) > 0).map((row) => ofRow(row) / over(row))));
  }
  if (formula.kind === "jain") {
    const { indices, words } = table.control;
    const shares = (row) => words[indices[row]] !== run.uncontrolled && !isArriving(row);
    return jain(known(rows.filter(shares).map(ofRow)));
  }
  const active = (row) =>
    formula.active && isArriving(row) ? at(table[formula.active], row) / run.measured : 1;
  const values = known(rows.map((row) => ofRow(row) * active(row)));
  const whole = formula.over ? sum(known(rows.map(over))) : 1;
  return whole > 0 && values.length ? sum(values) / whole : NaN;
}

const quantity = ({ columns, factors }, value) =>
  columns.reduce((total, name, place) => total + value(name) * (factors[place] ?? 1), 0);

// Returns the growth of a cumulative column after the warm-up.
function grown(table, rows, name, warmup) {
  let before = 0;
  for (const row of rows) {
    if (at(table.time_s, row) > warmup) break;
    before = at(table[name], row);
  }
  return rows.length ? at(table[name], rows.at(-1)) - before : NaN;
}

const known = (values) => values.filter((value) => !Number.isNaN(value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => (values.length ? sum(values) / values.length : NaN);

// Returns Jain's index. It sums in ascending order, so the order of the flows moves no bit.
function jain(unsorted) {
  const shares = [...unsorted].sort((a, b) => a - b);
  const squares = sum(shares.map((share) => share ** 2));
  return squares > 0 ? sum(shares) ** 2 / (shares.length * squares) : NaN;
}
