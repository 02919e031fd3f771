#!/bin/bash
# Fuzzes with libFuzzer and AddressSanitizer: run.sh [http|archive|dns|identity|pack|sourcemap|trust|zstd] [SECONDS], the HTTP parser for 60 where not said.
# What it finds is kept in .build/fuzz/found; a run without a find ends with 0. New inputs that reach new code are
# kept in .build/fuzz beside the seeds of Tests/Fuzz.
# run.sh api [SECONDS]: the API of a real server, the release binary or XCACHE_BINARY (see api.py). FUZZ_SEED draws the
# same values again. At least 500,000 requests in 10 minutes are wanted of a longer run.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=.build/fuzz
if [ "${1:-}" = api ]; then
  seconds=${2:-600}
  least=$((seconds < 300 ? 0 : seconds * 500000 / 600))
  exec python3 Tests/Fuzz/api.py "${XCACHE_BINARY:-.build/release/xcache}" "$seconds" --least "$least" \
    ${FUZZ_SEED:+--seed "$FUZZ_SEED"}
fi
target=http
case "${1:-}" in http | archive | dns | identity | pack | sourcemap | trust | zstd) target=$1; shift ;; esac
mkdir -p "$work/found"
# Swift's crash reporter faults inside AddressSanitizer, and would hide the find.
export SWIFT_BACKTRACE=enable=no
# SwiftPM names the package after its folder, and what is `package` is seen under that name alone.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]')
flags=(-swift-version 6 -parse-as-library -package-name "$package" -use-ld=lld -O -g
  -enable-experimental-feature Lifetimes -sanitize=fuzzer,address)
case $target in
http)
  seeds=Tests/Fuzz/corpus
  corpus=$work/corpus
  mkdir -p "$work/http"
  # On Linux there is nothing in it but its name.
  swiftc "${flags[@]}" -emit-module -module-name Backports Sources/Common/Backports/*.swift -emit-module-path "$work/http/Backports.swiftmodule"
  swiftc "${flags[@]}" -I "$work/http" -module-name Values -emit-module -emit-object -whole-module-optimization \
    $(find Sources/Common/Values -name '*.swift') -emit-module-path "$work/http/Values.swiftmodule" -o "$work/http/Values.o"
  swiftc "${flags[@]}" -I "$work/http" -module-name HTTPFuzz $(find Sources/Common/HTTP -name '*.swift') Tests/Fuzz/RequestFuzz.swift "$work/http/Values.o" \
    -o "$work/http-fuzz"
  ;;
archive)
  # It imports other targets, which SwiftPM builds; a test's view of them needs no more than the switch.
  seeds=Tests/Fuzz/archive-corpus
  corpus=$work/archive-corpus
  swift build --scratch-path "$work/archive" -c release --target Archive --sanitize=address \
    -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >/dev/null
  built=$work/archive/release
  swiftc "${flags[@]}" -module-name ArchiveFuzz -I "$built/Modules" $(find Sources -name module.modulemap \
    -printf '-Xcc -fmodule-map-file=%p ') -Xcc "-fmodule-map-file=$built/CLinux.build/module.modulemap" \
    -Xcc -ISources/C/CLinux/include Tests/Fuzz/ArchiveFuzz.swift $(find "$built/" -name '*.o') -lz -lcrypto \
    -o "$work/archive-fuzz"
  ;;
dns)
  seeds=Tests/Fuzz/dns-corpus
  corpus=$work/dns-corpus
  swift build --scratch-path "$work/dns" -c release --target HTTPDNS --sanitize=address \
    -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >/dev/null
  built=$work/dns/release
  swiftc "${flags[@]}" -module-name DNSFuzz -I "$built/Modules" $(find Sources -name module.modulemap \
    -printf '-Xcc -fmodule-map-file=%p ') -Xcc "-fmodule-map-file=$built/CLinux.build/module.modulemap" \
    -Xcc -ISources/C/CLinux/include Tests/Fuzz/DNSFuzz.swift $(find "$built/" -name '*.o') -lcrypto \
    -o "$work/dns-fuzz"
  ;;
identity)
  seeds=Tests/Fuzz/identity-corpus
  corpus=$work/identity-corpus
  swift build --scratch-path "$work/identity" -c release --target Identity --sanitize=address \
    -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >/dev/null
  built=$work/identity/release
  swiftc "${flags[@]}" -module-name IdentityFuzz -I "$built/Modules" $(find Sources -name module.modulemap \
    -printf '-Xcc -fmodule-map-file=%p ') -Xcc "-fmodule-map-file=$built/CLinux.build/module.modulemap" \
    -Xcc -ISources/C/CLinux/include Tests/Fuzz/IdentityFuzz.swift $(find "$built/" -name '*.o') -lcurl -lz -lcrypto \
    -o "$work/identity-fuzz"
  ;;
pack)
  seeds=Tests/Fuzz/pack-corpus
  corpus=$work/pack-corpus
  for library in Manifests Compression; do
    swift build --scratch-path "$work/pack" -c release --target $library --sanitize=address \
      -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >/dev/null
  done
  # The sample imports its generator's module; nothing else of it is needed.
  swiftc "${flags[@]}" -module-name TestSupport -emit-module -emit-object -whole-module-optimization \
    Tests/Support/TestSupport/SplitMix.swift -emit-module-path "$work/TestSupport.swiftmodule" -o "$work/TestSupport.o"
  built=$work/pack/release
  swiftc "${flags[@]}" -module-name PackFuzz -I "$built/Modules" -I "$work" $(find Sources -name module.modulemap \
    -printf '-Xcc -fmodule-map-file=%p ') -Xcc "-fmodule-map-file=$built/CLinux.build/module.modulemap" \
    -Xcc -ISources/C/CLinux/include Tests/Fuzz/PackFuzz.swift Tests/Common/ManifestsTests/Packs/Pack{Sample,Device}.swift \
    "$work/TestSupport.o" $(find "$built/" -name '*.o') -lz -lbrotlidec -lzstd -lcrypto \
    -o "$work/pack-fuzz"
  ;;
sourcemap)
  seeds=Tests/Fuzz/sourcemap-corpus
  corpus=$work/sourcemap-corpus
  # It needs nothing but the classes of bytes.
  swiftc "${flags[@]}" -module-name SourceMapFuzz Sources/Tool/BuildCheck/SourceMaps/*.swift \
    Sources/Tool/BuildCheck/Texts/TextCursor.swift Tests/Fuzz/SourceMapFuzz.swift -o "$work/sourcemap-fuzz"
  ;;
trust)
  seeds=Tests/Fuzz/trust-corpus
  corpus=$work/trust-corpus
  swift build --scratch-path "$work/trust" -c release --target Trust --sanitize=address \
    -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >/dev/null
  built=$work/trust/release
  swiftc "${flags[@]}" -module-name TrustFuzz -I "$built/Modules" $(find Sources -name module.modulemap \
    -printf '-Xcc -fmodule-map-file=%p ') -Xcc "-fmodule-map-file=$built/CLinux.build/module.modulemap" \
    -Xcc -ISources/C/CLinux/include Tests/Fuzz/TrustFuzz.swift $(find "$built/" -name '*.o') -lz -lcrypto \
    -o "$work/trust-fuzz"
  ;;
zstd)
  seeds=Tests/Fuzz/zstd-corpus
  corpus=$work/zstd-corpus
  # Its module is built in the same flags; what the tests share needs nothing else than it and libzstd.
  mkdir -p "$work/zstd"
  swiftc "${flags[@]}" -module-name Zstd -emit-module -emit-object -whole-module-optimization \
    $(find Sources/Common/Zstd -name '*.swift') -emit-module-path "$work/zstd/Zstd.swiftmodule" -o "$work/zstd/Zstd.o"
  swiftc "${flags[@]}" -module-name ZstdFuzz -I "$work/zstd" -Xcc -fmodule-map-file=Sources/C/CZstd/module.modulemap \
    Tests/Fuzz/ZstdFuzz.swift Tests/Common/ZstdTests/Support/{Comparison,Reference}.swift "$work/zstd/Zstd.o" -lzstd \
    -o "$work/zstd-fuzz"
  ;;
esac
mkdir -p "$corpus"
exec "$work/$target-fuzz" -max_total_time="${1:-60}" -max_len=4096 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$work/found/" "$corpus" "$seeds"
