import Values

/// A media type with its parameters, e.g. `application/javascript;charset=UTF-8` (RFC 9110, section 8.3).
package struct ContentType: Hashable, Sendable, CustomStringConvertible {
  /// The type and parameter names in lowercase, without space around `;`, and values as written.
  package let text: String

  /// The maximum length in bytes.
  package static let limit = 255
  /// The type of bytes about which nothing is known.
  package static let unknown = ContentType(known: "application/octet-stream")

  /// Parses a header value; nil if it isn't a media type.
  package init?(_ header: String) {
    var scanner = MediaTypeScanner(header)
    guard header.utf8.count <= Self.limit, let text = scanner.normalised() else { return nil }
    self.text = text
  }

  init(known text: String) { self.text = text }

  package var description: String { text }

  /// Type and subtype without parameters.
  package var essence: Substring { text.prefix { $0 != ";" } }

  /// Whether general-purpose compression makes such bytes smaller; most images, fonts and videos are already
  /// compressed.
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

/// Parses `type/subtype` and parameters (RFC 9110, sections 5.6.2, 5.6.4, 5.6.6 and 8.3.1).
struct MediaTypeScanner {
  private var rest: ArraySlice<UInt8>
  private var output: [UInt8] = []

  init(_ text: String) { rest = Array(text.utf8)[...] }

  mutating func normalised() -> String? {
    skipSpace()
    guard token(lowered: true), take(UInt8(ascii: "/")), token(lowered: true) else { return nil }
    skipSpace()
    while rest.popFirst(if: UInt8(ascii: ";")) {
      skipSpace()
      // "parameters = *( OWS ";" OWS [ parameter ] )": a lone semicolon is allowed, and dropped.
      if rest.isEmpty || rest.first == UInt8(ascii: ";") { continue }
      output.append(UInt8(ascii: ";"))
      guard token(lowered: true), take(UInt8(ascii: "=")), quoted() || token(lowered: false) else {
        return nil
      }
      skipSpace()
    }
    return rest.isEmpty ? String(decoding: output, as: UTF8.self) : nil
  }

  private mutating func skipSpace() {
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.popFirst(if: byte) else { return false }
    output.append(byte)
    return true
  }

  private mutating func token(lowered: Bool) -> Bool {
    let token = rest.prefix { ASCII.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    rest = rest.dropFirst(token.count)
    output.append(contentsOf: lowered ? token.map(ASCII.lowered) : Array(token))
    return !token.isEmpty
  }

  /// Takes a quoted string of printable ASCII, as written.
  private mutating func quoted() -> Bool {
    guard take(UInt8(ascii: "\"")) else { return false }
    while let byte = rest.popFirst(), byte >= 0x20, byte < 0x7F {
      output.append(byte)
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst(), escaped >= 0x20, escaped < 0x7F else { return false }
        output.append(escaped)
      }
    }
    return false
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func popFirst(if byte: UInt8) -> Bool {
    guard first == byte else { return false }
    removeFirst()
    return true
  }
}
