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
  esac
  mapfile -t files < <(find "$folder" -name '*.swift' | sort)
  module "$1" "${files[@]}"
  echo "$1: type-checked for Apple, ${#files[@]} files"
}

for stub in Darwin CryptoKit Foundation Security Network; do module "$stub" "Tests/AppleStubs/$stub.swift"; done
for name in ${TARGETS:-Libc Zstd System HTTP Manifests Compression Archive HTTPDNS XCacheClient XCacheRuntime DeviceApple XCacheFoundation}; do target "$name"; done
