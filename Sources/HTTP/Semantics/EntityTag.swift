/// A representation's validator: `"…"`, or `W/"…"` when it is weak (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
  /// The opaque part, quotes included.
  private let quoted: [UInt8]
  package let isWeak: Bool

  /// The tag whose opaque part is `opaque`, without quotes; bytes that may not stand in one are left out.
  package init(_ opaque: String, isWeak: Bool = false) {
    quoted = [0x22] + opaque.utf8.filter { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F } + [0x22]
    self.isWeak = isWeak
  }

  package var description: String { (isWeak ? "W/" : "") + String(decoding: quoted, as: UTF8.self) }

  /// Whether `text` is this tag and both are strong.
  package func matchesStrongly(_ text: RawSpan) -> Bool {
    !isWeak && text.equals(quoted.span.bytes)
  }

  /// Whether `text` is this tag, weak or not.
  package func matchesWeakly(_ text: RawSpan) -> Bool {
    let isMarked = text.starts(with: "W/")
    return text.extracting((isMarked ? 2 : 0)..<text.byteCount).equals(quoted.span.bytes)
  }
}
