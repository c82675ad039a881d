// The scenario of side A run by Linux's TCP, in real time, as the server tells of it.

import { called, decoded } from "./engine.js";
import { seconds, summary } from "./summary.js";

export class Live {
  // `tell(sentence)` is called with each news, `fail(errors)` if there is no run.
  constructor(tell, fail) {
    this.tell = tell;
    this.fail = fail;
    this.definitions = null;
    this.forget();
  }

  // Ends a run and drops what it gave; the server notices that nobody reads.
  forget() {
    this.source?.close();
    this.source = null;
    this.side = null;
    this.asked = "";
  }

  // Forgets a run of another scenario than that of the request.
  keep(request) {
    if (this.asked && this.asked !== JSON.stringify(request)) {
      this.forget();
      this.tell("");
    }
  }

  async begin(request, checked) {
    this.forget();
    this.asked = JSON.stringify(request);
    const found = await called("emulate", { ...request, files: undefined });
    if (found.errors) {
      this.forget();
      this.fail(found.errors);
      return;
    }
    this.checked = checked;
    this.duration = seconds(checked.resolved.duration);
    const none = this.definitions.figures.map(({ name }) => [name, []]);
    const curves = { ...Object.fromEntries(none), events: [] };
    this.side = { name: "Linux", label: "running", runs: [], curves };
    this.source = new EventSource("emulate/events");
    const hear = (name, act) =>
      this.source.addEventListener(name, ({ data }) => act(JSON.parse(data)));
    hear("rows", ({ flows }) => this.#drawn(flows));
    hear("progress", (now) => this.#progressed(now));
    hear("end", (end) => this.#ended(end));
    hear("failed", ({ errors }) => this.#failed(errors));
    this.source.onerror = () => this.#failed([{ message: "the emulation was cut off" }]);
    this.tell("Linux: hosts are started.");
  }

  #drawn(flows) {
    for (const [label, points] of Object.entries(flows)) {
      for (const [name, at] of [
        ["cwnd", 1],
        ["rtt", 3],
      ]) {
        const curve = this.#curve(name, label);
        for (const point of points) {
          curve.x.push(point[0]);
          curve.y.push(point[at]);
        }
      }
    }
  }

  #curve(name, label) {
    const known = this.side.curves[name];
    let curve = known.find((one) => one.label === label);
    const flow = this.checked.resolved.flows.findIndex(({ name: own }) => own === label);
    if (!curve) known.push((curve = { flow, label, part: "", form: "line", x: [], y: [] }));
    return curve;
  }

  // The rate is that of all flows: it has a curve if there is one flow.
  #progressed({ share, rate }) {
    const time = share * this.duration;
    const { flows } = this.checked.resolved;
    if (flows.length === 1 && time > 0) {
      const curve = this.#curve("goodput", flows[0].name);
      curve.x.push(time);
      curve.y.push(rate * 1e-6);
    }
    const mbits = (rate * 1e-6).toPrecision(3);
    this.tell(`Linux: ${time.toFixed(1)} of ${this.duration} s, ${mbits} Mbit/s.`);
  }

  #ended({ tables, reliable, verdict }) {
    this.source.close();
    this.source = null;
    const { metrics, curves, hop } = summary(
      decoded(tables),
      this.checked.resolved,
      this.definitions,
    );
    const label = reliable ? "emulated" : "emulated, unreliable";
    this.side = { ...this.side, hop, label, runs: [metrics], curves: { ...curves, events: [] } };
    this.tell(`Linux, one run in real time: ${verdict}. Its RTT is the smoothed one.`);
  }

  #failed(errors) {
    this.forget();
    this.tell("");
    this.fail(errors);
  }
}
