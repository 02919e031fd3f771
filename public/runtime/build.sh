#!/bin/bash
# Checks the web runtime's sources and builds what the binary embeds: public/runtime/dist.
#
#   public/runtime/build.sh [FOLDER]      FOLDER: where to, in the place of dist
#
# Needs Debian's node-typescript and esbuild. What it makes is committed, so that `make build` needs neither.
set -euo pipefail
cd "$(dirname "$0")"
to=${1:-dist}
mkdir -p "$to"
for part in worker page; do tsc -p "src/tsconfig.$part.json"; done
# build ENTRY NAME [OPTION...]
build() {
  esbuild "src/$1" --bundle --minify --format=iife --target=es2022 --log-level=warning --outfile="$to/$2" "${@:3}"
}
build worker/main.js xcache-sw.js
# What pages of a version on trial get, as a text.
trial=$(esbuild src/page/trial.js --minify --format=esm --target=es2022 --log-level=warning |
  node -p 'JSON.stringify(require("fs").readFileSync(0, "utf8").trim())')
build worker/packs.js xcache-sw-packs.js "--define:self.xcacheTrialText=$trial"
build trust/main.js xcache-sw-trust.js
build worker/remove.js xcache-remove.js
build page/main.js xcache.js
# Pages import it: a module, after something failed.
build page/samples.js xcache-samples.js --format=esm
tsc -p src/tsconfig.page.json --noEmit false --declaration --emitDeclarationOnly --outDir "$to/types"
mv "$to/types/main.d.ts" "$to/xcache.d.ts"
rm -r "$to/types"
for name in xcache-sw.js xcache-sw-packs.js xcache-sw-trust.js xcache.js xcache-samples.js xcache-remove.js; do
  printf '%s: %d bytes, %d by gzip\n' "$name" "$(wc -c <"$to/$name")" "$(gzip -9 <"$to/$name" | wc -c)"
done
