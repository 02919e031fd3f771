// Reads the publishing API as `xcache status`, `log` and `diff` do. Texts go in as text, never as markup.
const $ = (selector) => document.querySelector(selector);
let asked;

async function get(path) {
  const answer = await fetch(`/api/v1/apps/${encodeURIComponent(asked.app)}/channels/${encodeURIComponent(asked.channel)}${path}`, {
    headers: { Authorization: `Bearer ${asked.token}` },
  });
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.detail ?? `status ${answer.status}`);
  return document;
}

function say(text, failed = false) {
  $("#message").textContent = text;
  $("#message").classList.toggle("failed", failed);
}

/** Runs `work` and shows what it throws. */
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

const when = (time) => (time ? new Date(time).toLocaleString() : "—");

function row(cells, kind) {
  const line = document.createElement("tr");
  for (const cell of cells) {
    const box = document.createElement("td");
    box.textContent = cell;
    line.append(box);
  }
  if (kind) line.className = kind;
  return line;
}

function fill(table, rows) {
  $(`${table} tbody`).replaceChildren(...rows);
}

function showFacts(facts) {
  $("#channel dl").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => {
    const term = document.createElement("dt");
    const text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}

async function showChannel() {
  const [status, log] = await Promise.all([get(""), get("/log?limit=20")]);
  $("#channel h2").textContent = `${status.app} ${status.channel}: version ${status.version}`;
  showFacts({
    Released: when(status.at), Resources: status.resources, Size: size(status.bytes),
    "Public URL": status.publicURL, Digest: status.digest ?? "—",
  });
  fill("#bundles", status.bundles.map((bundle) => row([bundle.name, bundle.version, bundle.resources, size(bundle.bytes)])));
  fill("#releases", []);
  addReleases(log.releases);
  $("#diff").hidden = $("#diff-title").hidden = true;
  $("#channel").hidden = false;
  say("Select a release to see what it changed.");
}

function addReleases(releases) {
  for (const release of releases) {
    const line = row([
      release.version, when(release.at), release.kind, release.author,
      release.bundles.map((bundle) => bundle.bundle).join(" "),
      `+${release.added} ~${release.changed} −${release.removed}`, size(release.newBytes), release.message,
    ]);
    line.tabIndex = 0;
    const open = () => guarded(() => showDiff(release.version));
    line.addEventListener("click", open);
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
    $("#releases tbody").append(line);
  }
  const last = releases.at(-1);
  $("#older").hidden = releases.length < 20 || last.version === "1";
  $("#older").onclick = () => guarded(async () => addReleases((await get(`/log?limit=20&before=${last.version}`)).releases));
}

async function showDiff(version) {
  const earlier = (await get(`/log?limit=1&before=${version}`)).releases[0]?.version ?? "0";
  const diff = await get(`/diff?from=${earlier}&to=${version}`);
  const rows = [["added", "+"], ["changed", "~"], ["removed", "−"]].flatMap(([kind, mark]) =>
    diff[kind].slice(0, 500).map((change) => row([mark, change.url, size(change.size)], kind)));
  fill("#diff", rows);
  $("#diff-title").textContent = `Version ${earlier} → ${version}: +${diff.added.length} ~${diff.changed.length} −${diff.removed.length}`;
  $("#diff").hidden = $("#diff-title").hidden = false;
  $("#diff-title").scrollIntoView({ behavior: "smooth" });
}

$("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  asked = Object.fromEntries(new FormData(event.target));
  guarded(showChannel);
});
