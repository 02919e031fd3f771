/** Milliseconds between two looks at whether the site still has its worker, and looks in a row that have to find none. */
const EVERY = 3600e3;
const LOOKS = 2;

/**
 * Whether the site has no worker any more: somebody took xcache's files away without `xcache web remove`. Browsers keep such a worker, and
 * its pages would stay what they are for ever. Looked at after polls.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {import("./polling.js").Saved} saved takes note of it
 */
export async function hasLeft({ settings }, saved) {
  const now = Date.now();
  if (!settings.isAlone || Math.abs(now - (saved.looked ?? 0)) < EVERY) return false;
  saved.looked = now;
  try {
    const { status, headers } = await fetch(settings.script, { method: "HEAD", cache: "no-store" });
    // A router's page in the place of a script is no script.
    const isGone = status === 404 || status === 410 || (status === 200 && /html/.test(headers.get("content-type") ?? ""));
    if (isGone || status === 200) saved.gone = isGone ? (saved.gone ?? 0) + 1 : 0;
  } catch {}
  return (saved.gone ?? 0) >= LOOKS;
}
