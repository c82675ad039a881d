// The engine: in this page as WebAssembly, or on the server that the page came from.
//
// Both have the same functions. Each returns plain data, or {errors} with code, field, message and
// place of each mistake. Numbers of tables cross as typed arrays.

const MOST_MS = 10_000;
const BREATH_MS = 8;
const TOO_LONG = "takes longer than 10 s, too long for a page; run it with ackclock simulate";

export const failed = (message) => ({ errors: [{ code: "failed", field: "", message }] });

// Returns the engine in `bytes`, a promise of a Response or an ArrayBuffer.
export async function local(bytes) {
  const { instance, module } = await instantiated(await bytes);
  const [section] = WebAssembly.Module.customSections(module, "ackclock");
  return new Local(instance.exports, section ? new TextDecoder().decode(section) : "");
}

async function instantiated(source) {
  if (!(source instanceof ArrayBuffer || ArrayBuffer.isView(source))) {
    const type = source.headers.get("Content-Type") ?? "";
    if (type.startsWith("application/wasm")) {
      return WebAssembly.instantiateStreaming(source, {});
    }
    source = await source.arrayBuffer();
  }
  return WebAssembly.instantiate(source, {});
}

class Local {
  constructor(exports, digest) {
    this.exports = exports;
    this.digest = digest;
  }

  #put(text) {
    const bytes = new TextEncoder().encode(text);
    const address = this.exports.allocate(bytes.length);
    new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
    return [address, bytes.length];
  }

  #answer(length) {
    const bytes = new Uint8Array(this.exports.memory.buffer, this.exports.answer(), length);
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  describe = () => ({ ...this.#answer(this.exports.describe()), digest: this.digest });
  read = ({ text }) => this.#answer(this.exports.read(...this.#put(text)));
  write = ({ scenario }) =>
    this.#answer(this.exports.write(...this.#put(JSON.stringify(scenario))));
  check = (request) => this.#answer(this.exports.check(...this.#put(JSON.stringify(request))));

  // Runs a replicate; returns its tables, or null once `isWanted` returns false.
  async run(request, replicate, isWanted) {
    const begun = this.#answer(
      this.exports.begin(...this.#put(JSON.stringify({ ...request, replicate }))),
    );
    if (begun.errors) return begun;
    try {
      return await this.#ended(begun.run, isWanted);
    } finally {
      this.exports.cancel(begun.run);
    }
  }

  async #ended(run, isWanted) {
    const started = performance.now();
    let breathed = started;
    for (;;) {
      const step = this.#answer(this.exports.proceed(run));
      if (step.errors) return step;
      if (step.done) return this.#tables(run);
      const now = performance.now();
      if (now - started > MOST_MS) return failed(TOO_LONG);
      if (now - breathed > BREATH_MS) {
        await breath();
        if (!isWanted()) return null;
        breathed = performance.now();
      }
    }
  }

  #tables(run) {
    const tables = {};
    for (const name of this.#answer(this.exports.tables(run))) {
      const views = this.#answer(this.exports.columns(run, ...this.#put(name)));
      // Views of memory die when it grows: columns are copied before the next call.
      tables[name] = Object.fromEntries(
        views.map(([column, kind, address, rows, words]) => [
          column,
          copied(
            kind,
            this.exports.memory.buffer.slice(address, address + rows * width(kind)),
            words,
          ),
        ]),
      );
    }
    return tables;
  }
}

const width = (kind) => (kind === "str" ? 4 : 8);

// Returns a column: numbers, whole numbers as such, or indices with their words.
function copied(kind, buffer, words) {
  if (kind === "f8") return new Float64Array(buffer);
  if (kind === "i8") return new BigInt64Array(buffer);
  return { indices: new Int32Array(buffer), words };
}

const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

// Lets messages arrive; a timer would wait for at least 4 ms.
function breath() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}

const ENDED =
  "the server of this page has ended; start ackclock lab again and open the address that it prints";

// Returns the answer of the server to a call, or what it complains of.
export async function called(name, request) {
  const body = JSON.stringify(request);
  const answer = await fetch(`call/${name}`, { method: "POST", body }).catch(() => null);
  if (answer === null) return failed(ENDED);
  return answer.ok ? answer.json() : failed(await answer.text());
}

// The engine on the server that the page came from.
export class Remote {
  describe = async () => ({ ...(await called("describe", {})), digest: "" });
  read = (request) => called("read", request);
  write = (request) => called("write", request);
  check = (request) => called("check", request);

  async run(request, replicate, isWanted) {
    const found = await called("run", { ...request, files: undefined, replicate });
    await breath();
    if (!isWanted()) return null;
    return found.errors ? found : decoded(found);
  }
}

// Returns the tables of an answer of the server.
export function decoded(tables) {
  const columns = (rows) =>
    rows.map(([name, kind, data, words]) => [
      name,
      copied(kind, Uint8Array.from(atob(data), (one) => one.charCodeAt(0)).buffer, words),
    ]);
  return Object.fromEntries(
    Object.entries(tables).map(([name, rows]) => [name, Object.fromEntries(columns(rows))]),
  );
}
