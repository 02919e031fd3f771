#!/usr/bin/env node
// Checks the worker's decisions against random cases of docs/vectors/rollout.py, one a line: rollouts.mjs FILE
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import readline from "node:readline";
import { decide } from "./decide.mjs";

let count = 0;
for await (const line of readline.createInterface({ input: createReadStream(process.argv[2]) })) {
  const sample = JSON.parse(line);
  assert.equal(await decide(sample), sample.in ?? "error", line);
  count += 1;
}
console.log(`rollouts: ${count} decisions agree (JavaScript)`);
