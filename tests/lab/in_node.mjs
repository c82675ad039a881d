// Runs the page's engine in node, and prints what it gives as JSON.
//
//     node in_node.mjs STATIC-FOLDER < {"requests": [{scenario, set, files, replicate}],
//                                       "definitions", "formulas": {name: formula}}
//
// For each request: {"digests": {table: {column: [rows, digest]}}, "metrics", "hop", "curves",
// "values": {name: {subject: value}}} or {"errors"}.
// A digest is SHA-256 over the little-endian bytes of a column, NaN as one pattern; words as text.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const { local } = await import(new URL("engine.js", folder));
const { evaluate } = await import(new URL("formula.js", folder));
const { runOf, summary } = await import(new URL("summary.js", folder));
const engine = await local(readFileSync(new URL("engine.wasm", folder)));

function digest(column) {
  const hash = createHash("sha256");
  if (column instanceof Float64Array) {
    for (let row = 0; row < column.length; row++) if (Number.isNaN(column[row])) column[row] = NaN;
  }
  if (column.words) hash.update([...column.indices].map((index) => column.words[index]).join("\n"));
  else hash.update(new Uint8Array(column.buffer));
  return [(column.indices ?? column).length, hash.digest("hex")];
}

const found = [];
const { requests, definitions, formulas } = JSON.parse(readFileSync(0, "utf8"));
for (const request of requests) {
  const tables = await engine.run(request, request.replicate, () => true);
  if (tables.errors) {
    found.push(tables);
    continue;
  }
  const { resolved } = engine.check(request);
  const { metrics, hop, curves } = summary(tables, resolved, definitions);
  const run = runOf(tables, resolved, definitions);
  const values = {};
  for (const [name, formula] of Object.entries(formulas)) {
    const { words } = tables[formula.table][formula.table === "hops" ? "hop" : "flow"];
    const subjects = formula.kind === "jain" ? [undefined] : words;
    values[name] = Object.fromEntries(
      subjects.map((subject) => [subject ?? "all flows", evaluate(formula, run, subject)]),
    );
  }
  const digests = Object.entries(tables).map(([name, columns]) => [
    name,
    Object.fromEntries(Object.entries(columns).map(([column, rows]) => [column, digest(rows)])),
  ]);
  found.push({ digests: Object.fromEntries(digests), metrics, hop, curves, values });
}
process.stdout.write(JSON.stringify(found), () => process.exit(0));
