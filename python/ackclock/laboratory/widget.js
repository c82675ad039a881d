// The lab page in a cell of a notebook: its files become addresses of the browser (`blob:`), shown
// in a frame of their own, so that neither styles nor names of the notebook meet those of the page.

const TYPES = { js: "text/javascript", css: "text/css", html: "text/html", wasm: "application/wasm" };
const LEAST_HEIGHT = 600;

async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Makes an address of each file. A file names others in quotes, with or without "./": those become
// addresses first.
function addresses(files) {
  const made = {};
  const named = (name) => new RegExp(`"(?:\\./)?${name.replaceAll(".", "\\.")}"`, "g");
  function address(name) {
    if (made[name]) return made[name];
    let content = files[name];
    if (typeof content === "string" && !name.endsWith(".json")) {
      for (const other of Object.keys(files))
        if (other !== name && named(other).test(content))
          content = content.replace(named(other), JSON.stringify(address(other)));
    }
    const type = TYPES[name.split(".").at(-1)] ?? "application/json";
    return (made[name] = URL.createObjectURL(new Blob([content], { type })));
  }
  Object.keys(files).forEach(address);
  return made;
}

async function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "ackclock lab";
  frame.style.cssText = `width: 100%; height: ${LEAST_HEIGHT}px; border: 0`;
  el.append(frame);
  const files = { ...model.get("files"), "engine.wasm": await unpacked(model.get("engine")) };
  const made = addresses(files);
  frame.addEventListener("ackclock", ({ detail }) => {
    model.set("state", detail);
    model.save_changes();
  });
  let height = 0;
  frame.addEventListener("load", () => {
    const page = frame.contentDocument?.documentElement;
    if (!page) return;
    new ResizeObserver(() => {
      const needed = Math.max(LEAST_HEIGHT, page.ownerDocument.body.scrollHeight);
      if (needed !== height) frame.style.height = `${(height = needed)}px`;
    }).observe(page.ownerDocument.body);
  });
  frame.src = made["index.html"];
  return () => Object.values(made).forEach((one) => URL.revokeObjectURL(one));
}

export default { render };
