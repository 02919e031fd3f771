/// A media type with its parameters, e.g. `application/javascript;charset=UTF-8` (RFC 9110, section 8.3).
package struct ContentType: Hashable, Sendable, CustomStringConvertible {
  /// Type and parameter names in small letters, no space around `;`, values as written.
  package let text: String

  package static let limit = 255
  package static let unknown = ContentType(known: "application/octet-stream")

  /// Reads a header value; nil where it is none.
  package init?(_ header: String) {
    var scanner = MediaTypeScanner(header)
    guard header.utf8.count <= Self.limit, let text = scanner.normalised() else { return nil }
    self.text = text
  }

  init(known text: String) { self.text = text }

  package var description: String { text }

  /// Type and subtype without parameters.
  package var essence: Substring { text.prefix { $0 != ";" } }

  /// Whether a general compressor makes such bytes smaller; images, fonts and films mostly are packed already.
  package var isCompressible: Bool {
    let essence = essence
    if essence.hasPrefix("text/") || essence.hasSuffix("+json") || essence.hasSuffix("+xml") { return true }
    return Self.compressible.contains(String(essence))
  }

  private static let compressible: Set<String> = [
    "application/javascript", "application/json", "application/ld+json", "application/ndjson",
    "application/x-ndjson", "application/xml", "application/wasm", "application/yaml", "application/x-yaml",
    "application/x-javascript", "application/ecmascript", "application/rtf", "application/sql",
    "application/vnd.apple.mpegurl", "application/vnd.ms-fontobject", "font/ttf", "font/otf",
    "font/collection", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon", "model/gltf-binary",
  ]
}
