// Sliders and choices of a scenario: which there are, and their elements.
//
// A control is {path, label, unit, value} with {low, high, log, whole} or with {options}. Values
// stay as written in the scenario, with their units.

const STEPS = 200;
const NUMBER = String.raw`[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`;
const QUANTITY = new RegExp(`^\\s*(${NUMBER})\\s*([^\\d\\s.].*?)?\\s*$`);
const RANGE = new RegExp(
  `^\\s*(${NUMBER})\\s*([^\\d\\s.]\\S*)?\\s*\\.\\.\\s*(${NUMBER})\\s*(.*?)\\s*$`,
);
const COUNTED = new Set(["packets", "packet", "segments", "bytes"]);
const TO_ZERO = new Set(["s", "ms", "us", "µs", "%"]); // half of what varies in these begins at 0

// Returns the value at a path; list members are named by name or by position.
export function valueAt(tree, path) {
  return path.split(".").reduce((here, step) => {
    if (Array.isArray(here)) return here.find((one) => one?.name === step) ?? here[Number(step)];
    return here !== null && typeof here === "object" && Object.hasOwn(here, step)
      ? here[step]
      : undefined;
  }, tree);
}

// Returns the controls of a scenario: those of its table [lab], or else what is usual to vary.
export function controls({ point: scenario, resolved }, schema, leftOut) {
  const asked = Object.entries(scenario.lab?.sliders ?? {});
  const pathsOfRanges = asked.length ? asked : usual(scenario, resolved).map((path) => [path, ""]);
  const value = (path) => valueAt(scenario, path) ?? valueAt(resolved, path);
  const ranges = pathsOfRanges.map(([path, range]) => slider(path, value(path), range));
  if (!asked.length)
    ranges.push(
      ...onRoutes(resolved)
        .filter((hop) => !hop.impairments.length)
        .map(loss),
    );
  const chosen = choices(resolved).map((path) =>
    choice(path, value(path), schema, resolved, leftOut),
  );
  const marks = onRoutes(resolved).map(({ name }) => `hops.${name}.queue.ecn`);
  chosen.push(...marks.map((path) => answer(path, value(path))));
  return [...ranges, ...chosen].filter(Boolean).map((one) => ({
    ...one,
    label: labelOf(one.path),
    help: described(schema, resolved, one.path)?.description ?? "",
  }));
}

function onRoutes(resolved) {
  const names = new Set(resolved.flows.flatMap((flow) => flow.route));
  return resolved.hops.filter((hop) => names.has(hop.name)).slice(0, 3);
}

function usual(scenario, resolved) {
  const values = Object.keys(scenario.values ?? {}).map((name) => `values.${name}`);
  const hops = onRoutes(resolved).flatMap(({ name, impairments }) => [
    `hops.${name}.link.rate`,
    `hops.${name}.delay`,
    `hops.${name}.queue.limit`,
    ...impairments.map((_, at) => `hops.${name}.impairments.${at}.probability`),
  ]);
  return [
    ...values,
    ...hops,
    ...resolved.flows.slice(0, 3).map(({ name }) => `flows.${name}.count`),
  ];
}

function choices(resolved) {
  return [
    ...resolved.flows.slice(0, 3).map(({ name }) => `flows.${name}.transport.control`),
    ...onRoutes(resolved).map(({ name }) => `hops.${name}.queue`),
  ];
}

// Returns the slider of a plain quantity; none for an expression or a missing field.
function slider(path, value, range) {
  const read = QUANTITY.exec(String(value ?? ""));
  if (!read) return null;
  const number = Number(read[1]);
  const unit = read[2] ?? "";
  const asked = RANGE.exec(range);
  if (asked) {
    const words = asked[4].split(/\s+/);
    const own =
      words.filter((word) => word !== "log" && word !== "whole").join(" ") || asked[2] || "";
    return {
      path,
      value,
      unit: own,
      low: Number(asked[1]),
      high: Number(asked[3]),
      log: words.includes("log"),
      whole: words.includes("whole") || COUNTED.has(own),
      readable: own === unit,
    };
  }
  const whole = COUNTED.has(unit) || path.endsWith(".count");
  const linear = TO_ZERO.has(unit) || number <= 0;
  const low = linear ? 0 : rounded(number / (whole ? Math.min(20, number) : 20));
  const high =
    unit === "%"
      ? Math.min(100, Math.max(5, number * 4))
      : path.endsWith(".count")
        ? Math.max(50, number * 2)
        : number > 0
          ? number * (linear ? 5 : 20)
          : 100;
  return {
    path,
    value,
    unit,
    low: Math.max(low, whole ? 1 : 0),
    high,
    log: !linear,
    whole,
    readable: true,
  };
}

// Returns the slider of random loss at a hop without impairments.
function loss({ name }) {
  const wrap = (value) => (numberOf(value) ? [{ kind: "iid_loss", probability: value }] : []);
  return {
    path: `hops.${name}.impairments`,
    value: "0 %",
    unit: "%",
    low: 0,
    high: 5,
    log: false,
    whole: false,
    readable: true,
    wrap,
  };
}

// Returns the choice between the kinds of an element: what each option sets.
function choice(path, element, schema, resolved, leftOut) {
  const kinds = described(schema, resolved, path)?.oneOf;
  if (!element?.kind || !kinds) return null;
  const options = kinds
    .filter(
      (one) => !path.endsWith("control") || !leftOut.includes(one.properties.kind.const),
    )
    .map((one) => option(one, element));
  return options.length > 1 ? { path, value: element, options: options.filter(Boolean) } : null;
}

// Returns the choice between no and yes.
function answer(path, value) {
  const options = [false, true].map((sets) => ({
    name: String(sets),
    title: sets ? "yes" : "no",
    sets,
  }));
  return typeof value === "boolean" ? { path, value, options } : null;
}

// Returns what choosing a kind sets: it keeps a limit, and has defaults otherwise.
function option(kind, element) {
  const name = kind.properties.kind.const;
  const needed = (kind.required ?? []).filter((field) => field !== "kind");
  if (name === element.kind) return { name, title: kind.title ?? name, sets: element };
  const carried =
    Object.hasOwn(kind.properties, "limit") && element.limit ? { limit: element.limit } : {};
  if (needed.some((field) => !Object.hasOwn(carried, field))) return null;
  return { name, title: kind.title ?? name, sets: { kind: name, ...carried } };
}

// Returns the part of the JSON schema that describes a field of a resolved scenario.
export function described(schema, resolved, path) {
  let [here, value] = [schema, resolved];
  for (const step of path.split(".")) {
    here = variant(followed(schema, here), value, schema);
    value = Array.isArray(value)
      ? (value.find((one) => one?.name === step) ?? value[Number(step)])
      : value?.[step];
    here = here?.items ?? here?.properties?.[step];
    if (!here) return null;
  }
  const own = here.description;
  const found = followed(schema, here);
  return { ...found, description: own ?? found.description };
}

function followed(schema, here) {
  const name = here?.$ref?.replace("#/$defs/", "");
  return name ? followed(schema, schema.$defs[name]) : here;
}

function variant(here, value, schema) {
  const of = (one) => followed(schema, one)?.properties?.kind?.const === value?.kind;
  return here?.oneOf?.find(of) ?? here;
}

const LABELS = {
  "queue ecn": "queue marks (ECN)",
  "queue limit": "buffer",
  count: "instances",
  impairments: "random loss",
  "impairments probability": "random loss",
};

// Returns the heading under which a control stands.
function groupOf(path) {
  const [kind, name] = path.split(".");
  return { hops: name, flows: name, values: "values" }[kind] ?? "run";
}

function labelOf(path) {
  const [kind, name, ...rest] = path.split(".");
  if (kind !== "hops" && kind !== "flows") return (name ?? kind).replaceAll("_", " ");
  const field = rest.filter(
    (step) => !["link", "transport", "kind"].includes(step) && !/^\d+$/.test(step),
  );
  return LABELS[field.join(" ")] ?? field.join(" ").replaceAll("_", " ");
}

const rounded = (number) => (number === 0 ? 0 : Number(number.toPrecision(3)));

function valueOf(control, step) {
  const share = step / STEPS;
  const { low, high, log, whole } = control;
  const number = log ? low * (high / low) ** share : low + (high - low) * share;
  return whole ? Math.max(Math.round(low), Math.round(rounded(number))) : rounded(number);
}

function stepOf({ low, high, log }, number) {
  const share = log ? Math.log(number / low) / Math.log(high / low) : (number - low) / (high - low);
  return Math.round(STEPS * Math.min(1, Math.max(0, share)));
}

export const numberOf = (value) => Number(QUANTITY.exec(String(value))?.[1]);
// Returns the loss rate of a list of one impairment as a value, other values as they are.
export const plain = (value) => (Array.isArray(value) ? (value[0]?.probability ?? "0 %") : value);
const written = ({ unit }, number) => (unit ? `${number} ${unit}` : number);

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

// Fills a form with rows. `change(path, value, side)` is told of each move; a value of undefined
// takes a difference away from side B.
export function build(form, list, other, change) {
  const groups = new Map();
  for (const control of list) {
    const name = groupOf(control.path);
    groups.set(name, [...(groups.get(name) ?? []), control]);
  }
  const focused = form.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
  form.replaceChildren(
    ...[...groups].map(([name, members]) =>
      element(
        "fieldset",
        {},
        element("legend", {}, name),
        ...members.map((control) => row(control, other, change)),
      ),
    ),
  );
  if (focused) form.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

function row(control, other, change) {
  const { path } = control;
  const hasOther = other?.has(path) ?? false;
  const toggle = element(
    "button",
    {
      type: "button",
      class: "differs",
      "aria-pressed": String(hasOther),
      "aria-label": `another value of ${control.label} on side B`,
      title: "another value on side B",
      onclick: () =>
        change(
          path,
          hasOther ? undefined : (control.wrap ?? ((same) => same))(control.value),
          "B",
          true,
        ),
    },
    "B",
  );
  const made = element(
    "div",
    { class: "row", "data-path": path },
    ...inputs(control, "A", control.value, change),
    toggle,
  );
  if (hasOther) {
    made.append(
      element("div", { class: "other" }, ...inputs(control, "B", plain(other.get(path)), change)),
    );
  }
  return made;
}

function inputs(control, side, value, change) {
  const { path, label, help, unit, wrap = (same) => same } = control;
  const title = help ? `${path}: ${help}` : path;
  const name = side === "A" ? label : `${label} on side B`;
  const text = element("span", { class: "name", title }, side === "A" ? label : "B");
  if (control.options) {
    const select = element(
      "select",
      {
        "aria-label": name,
        title,
        onchange: () =>
          change(path, control.options.find((one) => one.name === select.value).sets, side),
      },
      ...control.options.map((one) => element("option", { value: one.name }, one.title)),
    );
    select.value = value?.kind ?? String(value);
    return [text, select];
  }
  const number = element("input", {
    type: "number",
    step: "any",
    "aria-label": `${name}${unit ? ` in ${unit}` : ""}`,
    title,
    value: control.readable ? numberOf(value) : "",
  });
  const range = element("input", {
    type: "range",
    min: 0,
    max: STEPS,
    "aria-label": name,
    title,
    value: stepOf(control, numberOf(value)),
    "aria-valuetext": String(value),
  });
  range.addEventListener("input", () => {
    const moved = valueOf(control, Number(range.value));
    number.value = moved;
    range.setAttribute("aria-valuetext", String(written(control, moved)));
    change(path, wrap(written(control, moved)), side);
  });
  number.addEventListener("change", () => {
    if (number.value === "" || !Number.isFinite(number.valueAsNumber)) return;
    range.value = stepOf(control, number.valueAsNumber);
    change(path, wrap(written(control, number.valueAsNumber)), side);
  });
  return [
    text,
    element("span", { class: "value" }, number, element("span", { class: "unit" }, unit)),
    range,
  ];
}
