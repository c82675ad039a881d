// The state of the page as the part of its address after '#', and back, as links.py does.

const PREFIX = "#v1.";
const LIMIT = 8_000;
const MOST_BYTES = 200_000;
const MOST_LEVELS = 100;
const NOT_A_LINK = "this address holds no scenario of ackclock lab; copy the link whole";

// Returns the link of {scenario, set, other, engine}, where set and other are maps.
export async function encode(state) {
  const written = { scenario: state.scenario };
  if (state.set.size) written.set = Object.fromEntries(state.set);
  if (state.other) written.b = Object.fromEntries(state.other);
  if (state.engine) written.engine = state.engine;
  const packed = await through(
    new CompressionStream("deflate-raw"),
    new TextEncoder().encode(JSON.stringify(written)),
  );
  const link = PREFIX + base64url(packed);
  if (link.length > LIMIT) throw new Error("too long for a link; download the scenario instead");
  return link;
}

// Returns the state of a link; the scenario in it is not checked.
export async function decode(hash) {
  if (!hash.startsWith(PREFIX) || hash.length > LIMIT) throw new Error(NOT_A_LINK);
  let written;
  try {
    const bytes = await through(new DecompressionStream("deflate-raw"), bytesOf(hash.slice(4)));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (levels(text) > MOST_LEVELS) throw new Error(NOT_A_LINK);
    written = JSON.parse(text);
  } catch {
    throw new Error(NOT_A_LINK);
  }
  const { scenario, set, b, engine } = isTable(written) ? written : {};
  const optional = [set, b].every((one) => one === undefined || one === null || isTable(one));
  if (!isTable(scenario) || !optional) throw new Error(NOT_A_LINK);
  return {
    scenario,
    set: new Map(Object.entries(set ?? {})),
    other: b ? new Map(Object.entries(b)) : null,
    engine: typeof engine === "string" ? engine : "",
  };
}

const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function levels(text) {
  let depth = 0;
  let deepest = 0;
  for (const one of text) {
    if (one === "[" || one === "{") deepest = Math.max(deepest, ++depth);
    if (one === "]" || one === "}") depth--;
  }
  return deepest;
}

async function through(stream, bytes) {
  const reading = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reading.read();
    if (done) break;
    size += value.length;
    if (size > MOST_BYTES) {
      await reading.cancel();
      throw new Error(NOT_A_LINK);
    }
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function base64url(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) =>
    one.charCodeAt(0),
  );
}
