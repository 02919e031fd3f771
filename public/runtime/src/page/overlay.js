/** Milliseconds between two looks at the worker. */
const EVERY = 1000;

/**
 * Shows what the worker holds and does in a corner of the page. Styles are set one by one, which no Content-Security-Policy forbids.
 * @param {{state: () => Promise<import("./main.js").State | undefined>}} xcache
 * @param {() => string} absence why there is no worker
 * @param {string} scope
 */
export function showOverlay({ state }, absence, scope) {
  const box = document.createElement("pre");
  box.id = "xcache-debug";
  Object.assign(box.style, {
    position: "fixed", right: "8px", bottom: "8px", margin: "0", padding: "8px", zIndex: "2147483647", background: "#000c",
    color: "#fff", font: "12px/1.4 monospace", pointerEvents: "none",
  });
  const show = async () => {
    const held = await state();
    const isOutside = held?.why === "outside";
    box.textContent = isOutside ? `xcache: no worker (this page is outside of the registration's scope, ${scope})` : held
      ? `xcache ${held.page ?? "-"} → ${held.version} (${held.source})\n` +
        `page from the ${held.from}${held.why ? ` (${held.why})` : ""}\n` +
        `files ${held.held} of ${held.listed}\n` +
        `answers ${held.counts.local}, passed ${held.counts.passed}, failed ${held.counts.failed}\n` +
        `saved ${(held.counts.bytes / 1024).toFixed(0)} KiB`
      : `xcache: no worker (${absence()})`;
  };
  const begin = () => {
    document.body.append(box);
    void show();
    setInterval(show, EVERY);
  };
  if (document.body) begin();
  else addEventListener("DOMContentLoaded", begin);
}
