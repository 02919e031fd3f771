// Search over what one may read.
import { el } from "./dom.js";

export async function open() {
  return { title: "Search", node: el("h1", {}, "Search") };
}
