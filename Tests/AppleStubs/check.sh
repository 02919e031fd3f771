#!/bin/bash
# Type-checks the device side as if it were built for Apple's systems: stand-in modules take the places of Apple's, and none
# of libcurl, libzstd, OpenSSL or the Linux doors can be imported. It shows that the code compiles against what we believe
# of Apple's interfaces, not that it runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# module NAME FILE…: type-checks the files, bodies included, and makes the module that the next ones import.
module() {
  local name=$1
  shift
  local flags=(-module-name "$name" -package-name xcache -swift-version 6 -enable-experimental-feature Lifetimes
    -warnings-as-errors -parse-as-library -I "$out" -I Sources/CZlib)
  swiftc -emit-module -whole-module-optimization "${flags[@]}" -o "$out/$name.swiftmodule" "$@"
}

# target NAME: one of ours.
target() {
  local files folder="Sources/$1"
  case "$1" in
    DeviceApple) folder=Engines/Apple ;;
    XCacheFoundation) folder=Engines/Foundation ;;
    ExampleiOS) folder=Examples/ios/Shop ;;
  esac
  mapfile -t files < <(find "$folder" -name '*.swift' | sort)
  # What SwiftPM makes of a target's resources.
  [ "$1" != XCacheRuntime ] || files+=(Tests/AppleStubs/PackageResources.swift)
  module "$1" "${files[@]}"
  echo "$1: type-checked for Apple, ${#files[@]} files"
}

for stub in Darwin CryptoKit Security Foundation Network WebKit UIKit; do module "$stub" "Tests/AppleStubs/$stub.swift"; done
names=${TARGETS:-Libc Zstd System HTTP Manifests Compression Archive HTTPDNS XCacheClient XCacheRuntime DeviceApple XCacheFoundation ExampleiOS}
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
# refused WHAT FILE EXPRESSION MESSAGE: Engines/Apple with one line changed by sed.
refused() {
  local changed="$out/changed"
  rm -rf "$changed"
  cp -r Engines/Apple "$changed"
  sed -i "$3" "$changed/$2"
  ! cmp -s "$changed/$2" "Engines/Apple/$2" || { echo "$1: nothing was changed" >&2; exit 1; }
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
  refused "a missing method" WebKit/WebPage+Navigation.swift 's/func webViewWebContentProcessDidTerminate/func ended/' \
    "type 'WebPage' does not conform to protocol 'WKNavigationDelegate'"
  ;;
esac
