// A worker for one side of the page: it answers calls, and runs the latest scenario only.

import { failed, local, Remote } from "./engine.js";
import { summary } from "./summary.js";

let current = 0; // the generation that the page waits for

const engine = loaded();
const definitions = fetch("definitions.json").then((answer) => answer.json());

async function loaded() {
  const answer = await fetch("engine.wasm");
  if (answer.ok) return local(answer);
  return new Remote();
}

onmessage = async ({ data }) => {
  if (data.run !== undefined) {
    current = data.run;
    await run(data);
    return;
  }
  const answer = await attempt(async () => (await engine)[data.call](data.request));
  postMessage({ id: data.id, answer });
};

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    // A panic of the engine ends its instance: the page starts another worker.
    const broken = error instanceof WebAssembly.RuntimeError;
    return {
      ...failed(`${broken ? "internal error of the engine" : "failed"}: ${error.message}`),
      broken,
    };
  }
}

// Runs replicates `from` to `to` of a scenario, unless a newer one comes.
async function run({ run: generation, request, from, to }) {
  const isWanted = () => current === generation;
  const checked = await attempt(async () => (await engine).check(request));
  if (!isWanted()) return;
  if (checked.errors) {
    postMessage({ run: generation, ...checked });
    return;
  }
  for (let replicate = from; replicate < to && isWanted(); replicate++) {
    const tables = await attempt(async () => (await engine).run(request, replicate, isWanted));
    if (tables === null || !isWanted()) return;
    const found = tables.errors
      ? tables
      : await attempt(async () => summary(tables, checked.resolved, await definitions));
    postMessage({ run: generation, replicate, checked, ...found });
    if (found.errors) return;
  }
}
