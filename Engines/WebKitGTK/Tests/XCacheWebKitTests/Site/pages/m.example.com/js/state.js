globalThis.runs = (globalThis.runs || 0) + 1; export const count = globalThis.runs;
