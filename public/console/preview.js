// A version's pages, as devices would show them: in a frame of another origin, with the pictures that were taken of them.
import { act, channelLink, channelPath, get, newKey, picture, Refusal } from "./api.js";
import { card, count, el, fill, named, plural, size, svg, when } from "./dom.js";
import { facts, inWords, part } from "./parts.js";

/** Widths of the frame in CSS pixels, a phone's first: the pages are an app's, as a rule. */
const widths = [["390", "390 px"], ["768", "768 px"], ["1440", "1,440 px"], ["fit", "Fit"]];
/** Addresses of a frame: another origin on this or another machine, and never a script. */
const isFrame = (url) => /^https?:\/\/[a-z2-7]{26}\.[a-z0-9.-]+(:\d{1,5})?\//i.test(url);

/** `#/preview/APP/CHANNEL/VERSION?page=URL&width=390` */
export async function open({ names: [app, channel, version], query, overview: fleet }) {
  const path = channelPath(app, channel);
  const [info, log] = await Promise.all([get(`${path}/releases/${encodeURIComponent(version)}`), get(`${path}/log?limit=1&before=${encodeURIComponent(version)}`).catch(() => ({ releases: [] }))]);
  const previous = log.releases[0]?.version;
  const live = fleet?.channels.find((one) => one.app === app && one.channel === channel)?.version;
  const label = (of) => el("p", { class: "of-frame" }, el("b", {}, `Version ${of}`), of === live ? ", live" : of === previous ? ", before" : "");
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
  const which = el("div", { class: "row joined", role: "group", "aria-label": "Picture of" });
  const troubles = el("section", { class: "card", hidden: true });
  // The preview's own policy holds there as well.
  const aside = el("button", { type: "button", class: "plain", id: "own-tab", hidden: true, click: () => window.open(answer.url, "_blank", "noopener,noreferrer") }, "Open in a tab ↗");
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
    errors.classList.toggle("warn", sum > 0);
    troubles.hidden = !sum;
    fill(troubles, el("div", { class: "card-head" }, el("h2", {}, "Errors of this page")), el("ul", { class: "failing" }, found.samples.slice(0, 5).map((one) => el("li", {},
      el("a", { href: errors.getAttribute("href") }, el("span", {}, one.message || "It didn't come up"), el("span", { class: "number" }, count(one.count)))))));
    fill(errors, sum ? `▲ ${plural(sum, "error")} on devices` : "No errors on devices");
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
      aside.hidden = true;
      if (isOff) drawShots();
      else if (page && !answer) offer(await act("POST", `${path}/preview`, { version: info.version }, newKey()).catch(() => null));
      return;
    }
    const known = answer.page ?? page;
    offer(answer, known);
    tellErrors(known);
    // Scripts run there as they do on a device; its answers let nothing out.
    fill(stage, label(info.version), el("div", { class: "frame" }, el("iframe", { title: `${known} of version ${info.version}`, src: answer.url, sandbox: "allow-scripts allow-same-origin allow-forms", referrerpolicy: "no-referrer" })));
    aside.hidden = false;
    fit();
    drawShots();
  }

  const drawShots = () => part(shots, async () => {
    const mine = asked;
    const of = (version) => (version ? get(`${path}/releases/${version}/pictures`).then((list) => list.pictures).catch(() => []) : []);
    const [before, after] = await Promise.all([of(previous), of(info.version)]);
    if (mine !== asked) return [...shots.childNodes];
    const known = answer?.page || page || [...after, ...before][0]?.page;
    const [old, now] = [before, after].map((all) => all.find((one) => one.page === known));
    which.replaceChildren();
    if (!old && !now) {
      return el("p", { class: "quiet" }, before.length + after.length ? "There is no picture of this page." : ["There are no pictures of these versions. ", el("code", {}, "xcache publish --smoke"), " takes them."]);
    }
    const loaded = await Promise.all([[old, previous], [now, info.version]].map(async ([one, of]) => {
      if (!one) return null;
      const image = el("img", { alt: `A picture of the page in version ${of}` });
      const url = URL.createObjectURL(await picture(one.href));
      image.src = url;
      await image.decode().catch(() => {});
      URL.revokeObjectURL(url);
      return { image, of, at: one.at };
    }));
    if (mine !== asked) return [...shots.childNodes];
    const places = loaded.every(Boolean) ? differences(...loaded.map((one) => one.image)) : null;
    const all = loaded.filter(Boolean).map(({ image, of, at }) => {
      const { naturalWidth: wide, naturalHeight: high } = image;
      return { of, node: el("figure", {}, el("div", { class: "stage" }, label(of), el("div", { class: "marked" }, image, places?.length ? svg("svg", { viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" },
        places.map((one) => svg("rect", { x: one.left - 4, y: one.top - 4, width: one.right - one.left + 9, height: one.bottom - one.top + 9, rx: 4 }))) : null)),
        el("figcaption", {}, "Taken ", when(at), places ? places.length ? `; ${plural(places.length, "difference")} between the two versions, outlined.` : ". Both versions look the same." : ".")) };
    });
    // The one before at first: what it became is in the frame.
    const choose = (shown) => { for (const one of all) { one.node.hidden = one !== shown; one.button.setAttribute("aria-pressed", String(one === shown)); } };
    for (const one of all) one.button = el("button", { type: "button", click: () => choose(one) }, `Version ${one.of}`);
    choose(all[0]);
    fill(which, all.map((one) => one.button));
    return all.map((one) => one.node);
  });

  const bar = el("form", { class: "inline preview-bar", submit: (event) => event.preventDefault() }, el("label", { for: "page", class: "hidden" }, "Page"), chooser, buttons, scaled);
  const note = el("p", { class: "quiet small" }, "Requests to servers are blocked in this preview. ", aside);
  look.append(card("", [bar, stage, note]), el("div", { class: "beside" }, card("Picture", shots, which), el("div", { class: "more-on" }, troubles, card("This release", facts([
    ["Released", [when(info.at), " by ", named(info.author)]],
    ["Changes", [inWords(info), ", ", el("a", { href: channelLink("release", app, channel, `/${info.version}`) }, "see what")]],
    ["Content", `${plural(info.resources, "resource")}, ${size(info.bytes)}`],
  ])))));
  show();
  return {
    title: `Version ${info.version} of ${app} ${channel}: pages`,
    node: [
      el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Overview"), " / ", el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`), " / ",
        el("a", { href: channelLink("release", app, channel, `/${info.version}`) }, `Version ${info.version}`)),
      el("div", { class: "head" }, el("div", {}, el("h1", {}, `Pages of version ${info.version}`),
        el("p", { class: "lead" }, info.message ? [info.message.slice(0, 120), " · "] : null, "released ", when(info.at))),
      el("div", { class: "row" }, previous ? el("a", { class: "button", href: channelLink("preview", app, channel, `/${previous}${page ? `?page=${encodeURIComponent(page)}` : ""}`) }, `Preview version ${previous}`) : null,
        errors)),
      look,
    ],
  };
}

/** Where two pictures of one size differ: places of the picture, those near each other as one; null where that can't be told. */
function differences(one, other) {
  const { naturalWidth: wide, naturalHeight: high } = one;
  if (!wide || wide !== other.naturalWidth || high !== other.naturalHeight || wide * high > 1e7) return null;
  const [first, second] = [one, other].map((image) => {
    const canvas = el("canvas", { width: wide, height: high });
    const area = canvas.getContext("2d", { willReadFrequently: true });
    area.drawImage(image, 0, 0);
    return new Uint32Array(area.getImageData(0, 0, wide, high).data.buffer);
  });
  const near = 24;
  const places = [];
  for (let y = 0; y < high; y += 1) {
    for (let x = 0; x < wide; x += 1) {
      if (first[y * wide + x] === second[y * wide + x]) continue;
      const place = places.find((all) => x >= all.left - near && x <= all.right + near && y <= all.bottom + near);
      if (!place) places.push({ left: x, right: x, top: y, bottom: y });
      else {
        place.left = Math.min(place.left, x);
        place.right = Math.max(place.right, x);
        place.bottom = y;
      }
    }
    // More than can be looked at: all of it differs.
    if (places.length > 50) return [{ left: 4, top: 4, right: wide - 5, bottom: high - 5 }];
  }
  // Those that came to touch are one.
  for (let index = 0; index < places.length; index += 1) {
    const one = places[index];
    const other = places.findIndex((all, place) => place > index && all.left <= one.right + near && all.right >= one.left - near && all.top <= one.bottom + near && all.bottom >= one.top - near);
    if (other < 0) continue;
    const [all] = places.splice(other, 1);
    Object.assign(one, { left: Math.min(one.left, all.left), right: Math.max(one.right, all.right), top: Math.min(one.top, all.top), bottom: Math.max(one.bottom, all.bottom) });
    index = -1;
  }
  return places;
}
