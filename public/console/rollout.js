// Whom a rollout goes to, in words.
/** A share, in 10,000 buckets, as the command line writes it. */
export const ofBuckets = (share) => `${share / 100}%`;

export function audience({ share, groups, app }) {
  const who = [share ? `${ofBuckets(share)} of the devices` : null, groups.length ? `the ${groups.length === 1 ? "group" : "groups"} ${groups.join(", ")}` : null].filter(Boolean);
  return `${who.join(" and ") || "nobody"}${app ? `, with app ${app}` : ""}`;
}

/** Buckets of a percentage that somebody typed; throws what is wrong with it. */
export function buckets(text) {
  const number = Number(text.replace(/\s*%$/, ""));
  if (!/^\d{1,3}(\.\d{1,2})?\s*%?$/.test(text) || number > 100) throw new Error("Write the share as a percentage from 0 to 100, with two decimals at most.");
  return Math.round(number * 100);
}
