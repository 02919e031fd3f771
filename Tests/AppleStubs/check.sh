#!/bin/bash
# Compiles the device side for iOS as far as no SDK is needed: the standard library is this toolchain's own interface, which
# says since which system each of its parts exists; stand-ins take the places of Apple's modules; and none of libcurl,
# libzstd, OpenSSL or the Linux doors can be imported. It shows that the code compiles for the oldest system that
# Package.swift names, against what we believe of Apple's interfaces, not that it runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

machine=$(uname -m)
architecture=${machine/aarch64/arm64}
target=$architecture-apple-ios$(sed -n 's/.*\.iOS(\.v\([0-9]*\)).*/\1/p' Package.swift).0-simulator
resources=$out/resources
# The standard library's macros, such as TaskLocal.
plugins=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift/host/plugins

# The standard library for that target, of this toolchain's interfaces for Linux. `@backDeployed` doesn't parse without bodies, which
# interfaces leave out, and the library itself uses what is newer than the target.
standardLibrary() {
  local own module made
  own=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
  mkdir -p "$resources/iphonesimulator"
  ln -s "$own/shims" "$own/clang" "$own/apinotes" "$resources"
  for module in Swift _Concurrency SwiftOnoneSupport _StringProcessing; do
    made="$resources/iphonesimulator/$module.swiftmodule"
    mkdir "$made"
    sed -e "s/-target $machine-unknown-linux-gnu/-target $target/" -e '/^ *@backDeployed/d' \
      -e '/swift-module-flags:/s/$/ -disable-availability-checking/' \
      "$own/linux/$module.swiftmodule/$machine-unknown-linux-gnu.swiftinterface" >"$made/$architecture-apple-ios-simulator.swiftinterface"
  done
  # zlib's header without what it includes, which is written for Linux.
  mkdir "$out/zlib"
  cp Sources/C/CZlib/module.modulemap "$out/zlib"
  sed 's/<zlib.h>/"zlib.h"/' Sources/C/CZlib/shim.h >"$out/zlib/shim.h"
  echo '#include <zlib.h>' | clang -E -P -x c - >"$out/zlib/zlib.h"
  echo '#include <zlib.h>' | clang -E -dM -x c - | grep -E '^#define (Z_|ZLIB_VER|MAX_|deflateInit|inflateInit)' >>"$out/zlib/zlib.h"
}

# module NAME FILE…: compiles the files as far as the checks of the optimiser's input, and makes the module that the next ones import.
module() {
  local name=$1
  shift
  swiftc -frontend -emit-sil -o /dev/null -emit-module-path "$out/$name.swiftmodule" -target "$target" -resource-dir "$resources" \
    -module-cache-path "$out/cache" -disable-objc-interop -module-name "$name" -package-name xcache -swift-version 6 \
    -enable-experimental-feature Lifetimes -warnings-as-errors -parse-as-library -plugin-path "$plugins" -I "$out" -I "$out/zlib" "$@"
}

# target NAME: one of ours.
target() {
  local files folder=$(echo Sources/*/"$1")
  case "$1" in
    ExampleiOS) folder=Examples/ios/Shop ;;
  esac
  mapfile -t files < <(find "$folder" -name '*.swift' | sort)
  # What SwiftPM makes of a target's resources.
  [ "$1" != XCacheRuntime ] || files+=(Tests/AppleStubs/PackageResources.swift)
  module "$1" "${files[@]}"
  echo "$1: compiled for $target, ${#files[@]} files"
}

standardLibrary
for stub in Darwin CryptoKit Dispatch Security Foundation Network WebKit UIKit; do module "$stub" "Tests/AppleStubs/$stub.swift"; done
names=${TARGETS:-Backports Zstd Values System HTTP Manifests Trust Compression Archive HTTPDNS XCacheDevice XCacheClient XCacheRuntime DeviceApple XCacheFoundation BuildCheck ExampleiOS}
for name in $names; do target "$name"; done

# What the documents show an app's developer.
case " $names " in
*" XCacheFoundation "*)
  python3 Tests/Docs/swift_blocks.py --apple >"$out/Guides.swift"
  module Guides "$out/Guides.swift"
  echo "README.md and the guides: $(grep -c '^@MainActor func' "$out/Guides.swift") blocks type-checked for Apple"
  ;;
esac

# What the check is there for: it fails where a selector is misspelt, which the real protocol would pass over, where a type isn't
# Apple's, and where a method is missing.
# refused WHAT FILE EXPRESSION MESSAGE: Sources/Device/DeviceApple with one line changed by sed.
refused() {
  local changed="$out/changed"
  rm -rf "$changed"
  cp -r Sources/Device/DeviceApple "$changed"
  sed -i "$3" "$changed/$2"
  ! cmp -s "$changed/$2" "Sources/Device/DeviceApple/$2" || { echo "$1: nothing was changed" >&2; exit 1; }
  mapfile -t files < <(find "$changed" -name '*.swift' | sort)
  if module DeviceAppleChanged "${files[@]}" >"$out/said" 2>&1 || ! grep -qF "error: $4" "$out/said"; then
    echo "$1: the check doesn't see it; it said:" >&2
    cat "$out/said" >&2
    exit 1
  fi
  echo "$1: seen"
}

case " $names " in
*" DeviceApple "*)
  refused "a misspelt selector" WebKit/WebPage+Navigation.swift 's/didReceive challenge:/didRecieve challenge:/' \
    "instance method 'webView(_:didRecieve:completionHandler:)' has different argument labels from those required by protocol 'WKNavigationDelegate'"
  refused "a wrong type" WebKit/WebPage+Navigation.swift 's/@Sendable (WKNavigationActionPolicy)/@Sendable (Bool)/' \
    "type 'WebPage' does not conform to protocol 'WKNavigationDelegate'"
  refused "a part of a newer system" WebKit/WebHost.swift 's/if #available(iOS 17, macOS 14, \*) {$/if true {/' \
    "'proxyConfigurations' is only available in iOS 17.0 or newer"
  refused "a part of a newer standard library" WebKit/WebHost.swift '$a let four = InlineArray<4, Int>(repeating: 0)' \
    "'InlineArray' is only available in iOS 26.0 or newer"
  refused "a missing method" WebKit/WebPage+Navigation.swift 's/func webViewWebContentProcessDidTerminate/func ended/' \
    "type 'WebPage' does not conform to protocol 'WKNavigationDelegate'"
  ;;
esac
