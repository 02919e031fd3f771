// A version's pages, as devices would show them: in a frame of another origin, with the pictures that were taken of them.
import { act, channelLink, channelPath, get, newKey, picture, Refusal } from "./api.js";
import { card, el, fill, named, plural, size, when } from "./dom.js";
import { facts, inWords, part } from "./parts.js";

/** Widths of the frame in CSS pixels, a phone's first: the pages are an app's, as a rule. */
const widths = [["390", "390 px"], ["768", "768 px"], ["1440", "1,440 px"], ["fit", "Fit"]];
/** Addresses of a frame: another origin on this or another machine, and never a script. */
const isFrame = (url) => /^https?:\/\/[a-z2-7]{26}\.[a-z0-9.-]+(:\d{1,5})?\//i.test(url);

/** `#/preview/APP/CHANNEL/VERSION?page=URL&width=390` */
export async function open({ names: [app, channel, version], query }) {
  const path = channelPath(app, channel);
  const [info, log] = await Promise.all([get(`${path}/releases/${encodeURIComponent(version)}`), get(`${path}/log?limit=1&before=${encodeURIComponent(version)}`).catch(() => ({ releases: [] }))]);
  const previous = log.releases[0]?.version;
  const place = channelLink("preview", app, channel, `/${encodeURIComponent(info.version)}`);
  let page = query.get("page") || "";
  let width = widths.some(([one]) => one === query.get("width")) ? query.get("width") : widths[0][0];
  let answer = null;
  let asked = 0;
  const stage = el("div", { class: "stage", id: "stage" });
  const look = el("div", { class: "look" });
  const scaled = el("span", { class: "quiet small" });
  /** A frame that is wider than its place is shown smaller; its page has all of its width. */
  function fit() {
    look.dataset.width = width;
    const frame = stage.querySelector(".frame");
    const scale = width === "fit" || !frame ? 1 : Math.min(1, (stage.clientWidth - 2 * Number.parseFloat(getComputedStyle(stage).paddingLeft)) / Number(width));
    frame?.style.setProperty("--wide", width === "fit" ? "100%" : `${width}px`);
    frame?.style.setProperty("--scale", scale);
    scaled.textContent = scale < 1 ? `shown at ${Math.round(scale * 100)} %` : "";
  }
  new ResizeObserver(fit).observe(stage);
  const shots = el("div", { id: "pictures" });
  const chooser = el("select", { id: "page", change: () => { page = chooser.value; keep(); show(); } });
  const buttons = el("div", { class: "row joined", role: "group", "aria-label": "Width" }, widths.map(([one, words]) => el("button", {
    type: "button", "aria-pressed": String(one === width), click: (event) => {
      width = one;
      for (const button of event.currentTarget.parentNode.children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      fit();
      keep();
    } }, words)));
  const keep = () => {
    const state = [page && `page=${encodeURIComponent(page)}`, `width=${width}`].filter(Boolean).join("&");
    history.replaceState(null, "", state ? `${place}?${state}` : place);
  };

  /** Fills in the pages that can be chosen. `known`: the one that is shown; none without it. */
  function offer(some, known = "") {
    if (!some) return;
    const pages = some.pages.includes(known) ? some.pages : [known, ...some.pages];
    const hosts = new Set(pages.filter(Boolean).map((one) => one.split("/", 3).join("/")));
    const words = (one) => (hosts.size > 1 ? one : one.slice(one.indexOf("/", 8)));
    fill(chooser, pages.map((one) => el("option", { value: one, selected: one === known, disabled: !one }, one ? words(one) : "choose a page")));
    chooser.value = known;
  }

  /** How many errors of the page devices told of, and the way to them. */
  const errors = el("a", { class: "button", href: channelLink("failures", app, channel, `?version=${info.version}${page ? `&page=${encodeURIComponent(page)}` : ""}`) }, "Failures");
  async function tellErrors(known) {
    const query = `?version=${encodeURIComponent(info.version)}&page=${encodeURIComponent(known)}`;
    const found = await get(`${path}/samples${query}`).catch(() => null);
    if (!found || !errors.isConnected || known !== (answer.page ?? page)) return;
    const sum = found.samples.reduce((all, one) => all + one.count, 0);
    errors.setAttribute("href", channelLink("failures", app, channel, query));
    fill(errors, sum ? `${plural(sum, "error")} on devices` : "No errors on devices");
  }

  /** The frame of the page that is chosen; why there is none. */
  async function show() {
    asked += 1;
    const mine = asked;
    fill(stage, el("p", { class: "quiet" }, "Loading …"));
    try {
      const made = await act("POST", `${path}/preview`, { version: info.version, ...(page ? { page } : {}) }, newKey());
      // Another page was chosen meanwhile.
      if (mine !== asked) return;
      answer = made;
      if (!isFrame(answer.url)) throw new Error("The origin gave an address that is none of a preview.");
    } catch (error) {
      if (mine !== asked) return;
      const isOff = error instanceof Refusal && error.code === "preview-off";
      fill(stage, el("p", { class: isOff ? "quiet" : "bad", role: "alert" }, isOff ? "" : "✖ ", error.message));
      // Pictures are there without a listener, too, and so are the pages that can be chosen.
      bar.hidden = note.hidden = isOff;
      if (isOff) drawShots();
      else if (page && !answer) offer(await act("POST", `${path}/preview`, { version: info.version }, newKey()).catch(() => null));
      return;
    }
    const known = answer.page ?? page;
    offer(answer, known);
    tellErrors(known);
    // Scripts run there as they do on a device; its answers let nothing out.
    fill(stage, el("div", { class: "frame" }, el("iframe", { title: `${known} of version ${info.version}`, src: answer.url, sandbox: "allow-scripts allow-same-origin allow-forms", referrerpolicy: "no-referrer" })));
    fit();
    drawShots();
  }

  const drawShots = () => part(shots, async () => {
    const of = (version) => (version ? get(`${path}/releases/${version}/pictures`).then((list) => list.pictures).catch(() => []) : []);
    const [before, after] = await Promise.all([of(previous), of(info.version)]);
    const known = answer?.page || page || [...after, ...before][0]?.page;
    const [old, now] = [before, after].map((all) => all.find((one) => one.page === known));
    if (!old && !now) {
      return el("p", { class: "quiet" }, before.length + after.length ? "There is no picture of this page." : ["There are no pictures of these versions. ", el("code", {}, "xcache publish --smoke"), " takes them."]);
    }
    const shot = async (one, words) => {
      if (!one) return el("figure", {}, el("figcaption", {}, `${words}: no picture`));
      const url = URL.createObjectURL(await picture(one.href));
      const image = el("img", { alt: `${words}: a picture of the page`, load: () => URL.revokeObjectURL(url) });
      image.src = url;
      return el("figure", {}, el("figcaption", {}, `${words}, taken `, when(one.at)), image);
    };
    return el("div", { class: "pictures" }, await Promise.all([previous ? shot(old, `Version ${previous}`) : null, shot(now, `Version ${info.version}`)].filter(Boolean)));
  });

  const bar = el("form", { class: "inline preview-bar", submit: (event) => event.preventDefault() }, el("label", { for: "page" }, "Page"), chooser, buttons, scaled);
  const note = el("p", { class: "quiet small" }, "The page runs from this version's files at an address of its own, for an hour. What it asks of servers fails, and what is typed there is sent to none.");
  look.append(card("", [bar, stage, note]), el("div", { class: "beside" }, card("Pictures of the page", shots), card("This release", facts([
    ["Released", [when(info.at), " by ", named(info.author)]],
    ["Changes", [inWords(info), ", ", el("a", { href: channelLink("release", app, channel, `/${info.version}`) }, "see what")]],
    ["Content", `${plural(info.resources, "resource")}, ${size(info.bytes)}`],
  ]))));
  show();
  return {
    title: `Version ${info.version} of ${app} ${channel}: pages`,
    node: [
      el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Overview"), " / ", el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`), " / ",
        el("a", { href: channelLink("release", app, channel, `/${info.version}`) }, `Version ${info.version}`)),
      el("div", { class: "head" }, el("div", {}, el("h1", {}, `Pages of version ${info.version}`),
        el("p", { class: "lead" }, info.message ? [info.message.slice(0, 120), " · "] : null, "released ", when(info.at))),
      el("div", { class: "row" }, previous ? el("a", { class: "button", href: channelLink("preview", app, channel, `/${previous}${page ? `?page=${encodeURIComponent(page)}` : ""}`) }, `Version ${previous}`) : null,
        errors)),
      look,
    ],
  };
}
