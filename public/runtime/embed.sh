#!/bin/bash
# Writes the scripts of the custom scheme as Swift for XCacheRuntime, since a device has no files of ours beside its binary.
#
#   public/runtime/embed.sh [FOLDER]      FOLDER: where to, in the place of Sources/XCacheRuntime/Scheme
set -euo pipefail
cd "$(dirname "$0")"
to=${1:-../../Sources/XCacheRuntime/Scheme}
for name in interceptor cookies; do
  {
    echo "// Written by public/runtime/embed.sh from $name.js beside it."
    echo "// swift-format-ignore-file"
    echo
    echo "extension SchemeScripts {"
    printf '  static let %s = ##"""\n' "$name"
    # Without comments that stand alone, which nobody reads on a device, and indented as the closing quotes are.
    grep -vE '^ *//' "$name.js" | sed -E 's/^(.)/    \1/'
    printf '    """##\n}\n'
  } >"$to/SchemeScripts+${name^}.swift"
done
