// The page: its state, two workers, and what they answer on the screen.
//
// The state is a scenario, changes to it, and what side B has differently. Sliders change it, the
// address holds it, workers run it. A run whose generation is not the latest is forgotten.

import { called } from "./engine.js";
import { Figures } from "./plots.js";
import { decode, encode } from "./links.js";
import { Live } from "./live.js";
import { fill, MOST_REPLICATES, sentence } from "./metrics.js";
import { seconds } from "./summary.js";
import { build, controls, plain, valueAt } from "./sliders.js";

const AT_REST_MS = 500;
const FIRST_REPLICATES = 5;
const $ = (id) => document.getElementById(id);

const state = { scenario: null, set: new Map(), other: null };
let begun = {
  name: "scenario.toml",
  scenario: null,
  files: {},
  options: [],
  server: false,
  saved: "",
};
let known = null; // the engine's description
let definitions = null; // metrics, as Python defines them
let generation = 0;
let complained = 0; // the generation that the last complaint is about
let resting = 0;
let atRest = 0; // the generation after which nothing has moved for a while
let moved = 0; // when the latest change came, for measurements
const sides = { A: side("A"), B: side("B") };
const figures = new Figures($("figures"), $("readout"), $("pick"));
const live = new Live(heard, complain);

function side(name) {
  return {
    name,
    worker: null,
    calls: new Map(),
    runs: [],
    curves: null,
    checked: null,
    predictions: null,
  };
}

function started(one) {
  one.worker = new Worker("worker.js", { type: "module" });
  one.worker.onmessage = ({ data }) =>
    data.id === undefined ? arrived(one, data) : returned(one, data);
  one.worker.onerror = (event) =>
    complain([{ message: `the engine cannot be loaded: ${event.message ?? ""}` }]);
}

function call(one, name, request = {}) {
  if (!one.worker) started(one);
  return new Promise((resolve) => {
    const id = one.calls.size ? Math.max(...one.calls.keys()) + 1 : 1;
    one.calls.set(id, resolve);
    one.worker.postMessage({ id, call: name, request });
  });
}

function returned(one, { id, answer }) {
  one.calls.get(id)(answer);
  one.calls.delete(id);
  if (answer?.broken) restart(one);
}

// A panic leaves an engine that cannot be used; the next run gets another.
function restart(one) {
  one.worker.terminate();
  one.worker = null;
  one.calls.clear();
}

const request = (one) => ({
  scenario: state.scenario,
  set: Object.fromEntries([...state.set, ...(one.name === "B" ? state.other : [])]),
  files: begun.files,
});
const active = () => (state.other ? [sides.A, sides.B] : [sides.A]);

// Runs one replicate of each side now, more once the sliders rest.
function changed() {
  generation++;
  moved = performance.now();
  clearTimeout(resting);
  live.keep(request(sides.A));
  tellFrame();
  for (const one of active()) run(one, 0, 1);
  resting = setTimeout(rested, AT_REST_MS);
  commandLine();
}

function run(one, from, to) {
  if (!one.worker) started(one);
  one.worker.postMessage({ run: generation, request: request(one), from, to });
}

async function rested() {
  const own = generation;
  await remember();
  document.body.dataset.remembered = String(own);
  await writeToml();
  if (own !== generation) return;
  atRest = own;
  active().forEach(refine);
}

// Begins further replicates of a side once its first is there and the sliders rest.
function refine(one) {
  const isFirst = one.generation === generation && one.runs.length === 1;
  if (isFirst && atRest === generation) run(one, 1, FIRST_REPLICATES);
}

function arrived(one, data) {
  if (data.broken) restart(one);
  if (data.run !== generation) return;
  if (data.errors) {
    complain(data.errors);
    return;
  }
  // What was said of this state stays, such as that its address was no link.
  if (generation > complained) $("error").hidden = true;
  if (data.replicate === 0) {
    Object.assign(one, {
      generation,
      runs: [],
      curves: data.curves,
      hop: data.hop,
      checked: data.checked,
    });
  }
  one.runs[data.replicate] = data.metrics;
  refine(one);
  if (data.replicate === FIRST_REPLICATES - 1) run(one, FIRST_REPLICATES, MOST_REPLICATES);
  if (active().every(({ generation: own }) => own === generation)) show(data.replicate === 0);
}

function show(curves) {
  const drawn = active();
  if (curves) drawFigures();
  const rows = drawn.map((one) => ({ name: one.name, label: labelOf(one), runs: one.runs }));
  fill($("metrics"), live.side ? [...rows, live.side] : rows, definitions);
  if (drawn[0].runs.length !== 1 || curves)
    $("sentence").textContent = sentence(drawn, definitions);
  document.body.dataset.drawn = String(generation);
  document.body.dataset.replicates = String(Math.min(...drawn.map(({ runs }) => runs.length)));
  document.body.dataset.milliseconds = String(performance.now() - moved);
}

function drawFigures() {
  const drawn = active().map((one) => ({ ...one, ...limits(one) }));
  if (live.side) drawn.push({ ...drawn[0], predictions: null, ...live.side, limits: {} });
  figures.draw(drawn, sides.A.checked.scenario.lab?.figures ?? []);
  if ($("numbers").open) writeTables();
}

// Linux has told something: says it, and draws what there is.
function heard(sentence) {
  $("live").textContent = sentence;
  $("emulate").textContent = live.source ? "Stop Linux" : "Run on Linux";
  document.body.dataset.live = live.source ? "running" : live.side ? "ended" : "";
  if (sides.A.curves) show(true);
}

const short = (value) => value?.kind ?? String(plain(value));

function labelOf(one) {
  if (!state.other) return one.checked.scenario.name ?? "";
  const values =
    one.name === "B"
      ? [...state.other.values()]
      : [...state.other.keys()].map(
          (path) => valueAt(one.checked.point, path) ?? valueAt(one.checked.resolved, path),
        );
  return values.map(short).join(", ") || "the same";
}

// Returns what is dotted in a side's figures, and where its warm-up ends.
function limits({ hop, checked: { resolved } }) {
  const found = resolved.hops.find(({ name }) => name === hop);
  const [number, unit] = String(found?.queue.limit ?? "").split(" ");
  const flow = resolved.flows.find(({ route }) => route.includes(hop)) ?? resolved.flows[0];
  const propagation = [...flow.route, ...flow.return].reduce(
    (sum, name) => sum + seconds(resolved.hops.find((one) => one.name === name)?.delay),
    0,
  );
  const rate = found?.link.facts?.mean_bit_per_s;
  return {
    warmup: seconds(resolved.warmup),
    duration: seconds(resolved.duration),
    limits: {
      queue: { value: unit?.startsWith("packet") ? Number(number) : NaN, label: "limit" },
      rtt: { value: propagation * 1e3, label: "delay without queueing", low: true },
      goodput: { value: rate ? rate * 1e-6 : NaN, label: "link rate" },
    },
  };
}

function complain(errors) {
  complained = generation;
  $("error").textContent = errors
    .map(
      ({ field, message, place }) =>
        `${place ? `line ${place[0]}: ` : ""}${field ? `${field}: ` : ""}${message}`,
    )
    .join("\n");
  $("error").hidden = false;
}

// Sliders.

async function rebuild() {
  const checked = await call(sides.A, "check", request(sides.A));
  if (checked.errors) {
    complain(checked.errors);
    // What cannot be run can be mended as text.
    if (document.activeElement !== $("toml")) {
      $("toml").value = await call(sides.A, "write", { scenario: state.scenario });
    }
    return false;
  }
  build($("sliders"), controls(checked, known.schema, known.controls_left_out), state.other, move);
  begun.assignments = checked.assignments;
  const swept = checked.assignments.map(([path, value]) => `${path} = ${short(value)}`);
  $("sweep").hidden = !swept.length;
  $("sweep").textContent =
    `The first of ${checked.points} points of the sweep is shown: ${swept.join("; ")}.`;
  const { name = "scenario", lab } = checked.scenario;
  const text = lab?.text ?? "";
  $("text").textContent = text;
  $("text").hidden = !text;
  $("compare").setAttribute("aria-pressed", String(state.other !== null));
  $("name").textContent = name;
  document.title = `${name} – ackclock lab`;
  return true;
}

async function move(path, value, name, again = false) {
  if (name === "A") state.set.set(path, value);
  else if (value === undefined) state.other.delete(path);
  else (state.other ??= new Map()).set(path, value);
  if (again || value?.kind) await rebuild();
  changed();
}

$("compare").addEventListener("click", async () => {
  state.other = state.other ? null : new Map();
  await rebuild();
  changed();
});

$("reset").addEventListener("click", () =>
  open({ scenario: begun.scenario ?? state.scenario, set: new Map(), other: null }),
);

// The scenario as text.

let editing = 0;

async function writeToml() {
  if (document.activeElement === $("toml")) return;
  const { scenario, errors } = await call(sides.A, "check", request(sides.A));
  if (errors) return;
  $("toml").value = await call(sides.A, "write", { scenario });
  const differences = [...(state.other ?? [])].map(([path, value]) => `${path} = ${short(value)}`);
  $("differs").textContent = differences.length ? `Side B: ${differences.join("; ")}` : "";
}

$("toml").addEventListener("input", () => {
  clearTimeout(editing);
  editing = setTimeout(readToml, AT_REST_MS);
});

async function readToml() {
  const text = $("toml").value;
  const scenario = await call(sides.A, "read", { text });
  const checked = scenario.errors
    ? scenario
    : await call(sides.A, "check", { scenario, text, files: begun.files });
  if (checked.errors) {
    complain(checked.errors);
    return;
  }
  Object.assign(state, { scenario, set: new Map() });
  if (await rebuild()) changed();
}

const quoted = (text) =>
  /^[\w./=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
const inline = (value) => {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .filter(([key]) => key !== "facts")
    .map(([key, one]) => `${key} = ${inline(one)}`)
    .join(", ")} }`;
};
const isTable = (value) => value !== null && typeof value === "object";
const assigned = ([path, value]) =>
  `--set ${quoted(`${path}=${isTable(value) ? inline(value) : value}`)}`;

function commandLine() {
  const isFile = JSON.stringify(state.scenario) === JSON.stringify(begun.scenario);
  const first = (begun.assignments ?? []).filter(([path]) => !state.set.has(path));
  const lines = active().map((one) => {
    const values = new Map([...first, ...state.set, ...(one.name === "B" ? state.other : [])]);
    const [file, options] = isFile ? [begun.name, begun.options] : ["scenario.toml", []];
    return [
      ["ackclock simulate", ...[file, ...options].map(quoted)].join(" "),
      `--replicates ${MOST_REPLICATES}`,
      ...[...values].map(assigned),
      `-o out/${one.name.toLowerCase()}`,
    ].join(" \\\n  ");
  });
  $("command").textContent = lines.join("\n\n");
}

// Links and files.

async function link() {
  const engine = `${known.version} ${known.digest.slice(0, 12)}`.trim();
  const files = Object.keys(begun.files);
  if (files.length)
    throw new Error(
      `a link cannot carry ${files[0]}; export the page instead: ackclock lab export`,
    );
  return encode({ ...state, engine });
}

// A page in a notebook has an address that nobody can open: the frame is told of the state.
const isInNotebook = location.protocol === "blob:";

function tellFrame() {
  if (!isInNotebook) return;
  const detail = { scenario: state.scenario, set: Object.fromEntries(state.set) };
  if (state.other) detail.b = Object.fromEntries(state.other);
  frameElement.dispatchEvent(new CustomEvent("ackclock", { detail }));
}

async function remember() {
  if (isInNotebook) return;
  try {
    history.replaceState(null, "", await link());
  } catch {
    history.replaceState(null, "", location.pathname);
  }
}

$("copy").addEventListener("click", async () => {
  const said = (text) => {
    $("copy").textContent = text;
    setTimeout(() => ($("copy").textContent = "Copy link"), 2000);
  };
  try {
    await remember();
    const own = await link();
    await navigator.clipboard.writeText(isInNotebook ? own : location.href);
    said("Copied");
  } catch (error) {
    if (error instanceof DOMException) said("It is in the address bar");
    else complain([{ message: error.message }]);
  }
});

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  URL.revokeObjectURL(address);
}

$("download").addEventListener("click", async () => {
  const { scenario, errors } = await call(sides.A, "check", request(sides.A));
  if (errors) complain(errors);
  else download("scenario.toml", await call(sides.A, "write", { scenario }));
});
$("csv").addEventListener("click", () => download("curves.csv", figures.csv()));
$("numbers").addEventListener("toggle", writeTables);

function writeTables() {
  const cells = (tag, values) =>
    values.map((text) => Object.assign(document.createElement(tag), { textContent: text }));
  const line = (tag, values) => {
    const made = document.createElement("tr");
    made.append(...cells(tag, values));
    return made;
  };
  $("tables").replaceChildren(
    ...figures.names.map((name) => {
      const { head, rows } = figures.table(name);
      const made = document.createElement("table");
      const caption = Object.assign(document.createElement("caption"), { textContent: name });
      const number = (value) => (Number.isFinite(value) ? value.toPrecision(5) : "–");
      made.append(caption, line("th", head), ...rows.map((row) => line("td", row.map(number))));
      return made;
    }),
  );
}

$("predict").addEventListener("click", async () => {
  const answers = await called("predict", { ...request(sides.A), files: undefined });
  if (answers.errors) {
    complain(answers.errors);
    return;
  }
  const said = answers.map(
    ({ flow, label, goodput_bit_per_s: rate, verdict }) =>
      `${label}: ${(rate * 1e-6).toPrecision(3)} Mbit/s for ${flow} (${verdict})`,
  );
  $("models").textContent = said.length
    ? `Models, dashed in the goodput figure: ${said.join("; ")}.`
    : "No model applies.";
  sides.A.predictions = {
    goodput: answers.map(({ goodput_bit_per_s: rate }) => rate * 1e-6),
  };
  show(true);
});

$("emulate").addEventListener("click", () => {
  if (!live.source) return live.begin(request(sides.A), sides.A.checked);
  live.forget();
  heard("");
});

$("save").addEventListener("click", async () => {
  const { saved, errors } = await called("save", { ...request(sides.A), files: undefined });
  if (errors) complain(errors);
  else $("saved").textContent = `Saved in ${saved}${state.other ? ", without side B" : ""}.`;
});

// The beginning.

async function open({ scenario, set, other, engine = "" }) {
  Object.assign(state, { scenario, set, other });
  sides.A.predictions = null;
  $("models").textContent = "";
  $("error").hidden = true;
  const own = `${known.version} ${known.digest.slice(0, 12)}`.trim();
  const sources = known.digest.slice(0, 12);
  const where = sources ? `sources ${sources}, in this page` : "on the server, slower than here";
  $("engine").textContent = [
    `Engine: ackclock ${known.version}, ${where}.`,
    engine && engine !== own ? `The link was made with ${engine}: numbers may differ.` : "",
  ].join(" ");
  if (await rebuild()) changed();
}

async function begin() {
  $("sentence").textContent = "";
  known = await call(sides.A, "describe");
  if (known.errors) throw new Error(known.errors[0].message);
  live.definitions = definitions = await (await fetch("definitions.json")).json();
  figures.kinds = definitions.figures;
  const answer = await fetch("scenario.json");
  if (answer.ok) begun = { ...begun, ...(await answer.json()) };
  for (const [id, what] of [
    ["predict", "Models need"],
    ["emulate", "Linux’s TCP needs"],
  ]) {
    $(id).disabled = !begun.server;
    if (!begun.server) $(id).title = `${what} ackclock lab on this machine`;
  }
  $("save").hidden = !begun.saved;
  $("save").title = begun.saved;
  await follow();
  addEventListener("hashchange", follow);
}

async function follow() {
  const given = { scenario: begun.scenario, set: new Map(), other: null };
  try {
    await open(location.hash.startsWith("#v") ? { ...(await decode(location.hash)) } : given);
  } catch (error) {
    if (begun.scenario) await open(given);
    complain([{ message: error.message }]);
  }
  document.body.dataset.opened = String(Number(document.body.dataset.opened ?? 0) + 1);
}

begin().catch((error) => complain([{ message: error.message }]));
