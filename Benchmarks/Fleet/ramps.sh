#!/bin/bash
# Simulated ramps: how often a good release is paused, and how soon a bad one. Usage: ramps.sh [RAMPS [SEED [WHICH [SIZE...]]]],
# where WHICH is how a scenario begins, or networks, of fleets with SIZE openings in each arm and day.
# It compiles the few files that decide by themselves, so that it needs no build of everything.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-.build/ramps}
mkdir -p "$out"
swift=(swiftc -O -wmo -swift-version 6 -package-name xcache -I "$out" -L "$out")
"${swift[@]}" -module-name System -emit-module -emit-module-path "$out/System.swiftmodule" -emit-library -static \
  -o "$out/libSystem.a" Sources/Common/System/{RealMath,ClampedSums}.swift
# What else these files know of rollouts.
echo 'enum RolloutRule { static let all = 10_000 }' >"$out/rule.swift"
"${swift[@]}" -module-name Manifests -emit-module -emit-module-path "$out/Manifests.swiftmodule" -emit-library -static \
  -o "$out/libManifests.a" "$out/rule.swift" \
  $(find Sources/Common/Manifests/Rollouts/Evidence -name '*.swift' ! -name '*+*')
echo 'Ramps.run(Array(CommandLine.arguments.dropFirst()))' >"$out/main.swift"
"${swift[@]}" -o "$out/ramps" "$out/main.swift" Benchmarks/Fleet/Ramps/*.swift -lManifests -lSystem
"$out/ramps" "$@"
