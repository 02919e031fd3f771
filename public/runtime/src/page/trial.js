// What a page of a version on trial runs besides, to say what it shows: the worker has it, and gives it to no other page.

/** Milliseconds between two looks. Looks rather than times: a browser that stopped was no page that stayed blank. */
const EVERY = 1000;
/** Looks in which a page that lacks a module shows nothing but what it had, by which it has failed, and the one in which it may still be blank. */
const LACKS = [3, 10];
const LAST = 20;
/** What shows something without text; of an element with a closed shadow root nothing is known. */
const DRAWN = /^(img|svg|canvas|video|audio|iframe|object|embed|input|textarea|select|button|progress|meter|hr)$|-/;
/** How browsers say that a module couldn't be imported. */
const IMPORT = /import|module script/i;

/**
 * Whether an element shows something itself.
 * @param {Element} element
 */
function isDrawn(element) {
  const { width, height } = element.getBoundingClientRect();
  const { visibility, backgroundImage } = getComputedStyle(element);
  // What is one pixel large is for screen readers, or counts visitors.
  if (Math.min(width, height) <= 1 || visibility !== "visible") return false;
  const hasText = [...element.childNodes].some(({ nodeType, nodeValue }) => nodeType === Node.TEXT_NODE && (nodeValue ?? "").trim());
  const isEdited = element instanceof HTMLElement && element.isContentEditable;
  return hasText || isEdited || DRAWN.test(element.localName) || backgroundImage !== "none";
}

/**
 * Whether a module of this site couldn't be imported. Some browsers say which one.
 * @param {any} reason of an error, or of a rejection that nobody took care of
 */
function isOwnImport(reason) {
  const message = String(reason?.message ?? "");
  const [url] = /https?:\S+/.exec(message) ?? [];
  return reason instanceof TypeError && IMPORT.test(message) && (!url || url.startsWith(`${location.origin}/`));
}

/**
 * Looks at the page, and tells the worker whenever it begins to show something, or doesn't any more, and when it has failed: it was blank in all
 * looks while its user could see it, or it lacks a module and shows nothing for that.
 * @param {(word: object) => void} say
 * @param {(root: ParentNode) => Element[]} elements
 * @param {() => boolean} isShown
 * @param {() => unknown[]} reasons of errors and rejections
 */
export function looks(say, elements, isShown, reasons) {
  let look = 0;
  let bare = 0;
  /** @type {boolean | undefined} */
  let isGood;
  let wasGood = false;
  let wasHidden = false;
  document.addEventListener("visibilitychange", () => (wasHidden = true));
  // Browsers that have this event say nothing of what the user does with their own buttons.
  /** @type {any} */ (window).navigation?.addEventListener("navigate", (/** @type {any} */ event) => {
    if (!event.userInitiated && !event.destination.sameDocument) say({ ask: "looks", goes: true });
  });
  const timer = setInterval(() => {
    look += 1;
    wasHidden ||= document.hidden;
    const isBare = reasons().some(isOwnImport) && !isShown();
    const isNow = !isBare && elements(document).some(isDrawn);
    wasGood ||= isNow;
    if (isBare && LACKS.includes(look)) bare += 1;
    const hasFailed = !wasHidden && (bare === LACKS.length || (look === LAST && !wasGood));
    if (isNow !== isGood || hasFailed) say({ ask: "looks", isBare: !isNow, hasFailed });
    isGood = isNow;
    if (hasFailed || look === LAST) clearInterval(timer);
  }, EVERY);
}
