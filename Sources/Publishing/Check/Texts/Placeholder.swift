import Manifests

/// Marks of templates, which stand for what isn't known before a server or a script fills them in.
///
/// A file whose name holds such marks is taken for a placeholder, too: then nothing is said of it, which is better than
/// an error about a text that is no address yet.
enum Placeholder {
  static func isIn(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    // No address that could be published.
    if bytes.count > ResourceURL.limit { return true }
    if let first = bytes.first, "~@$".utf8.contains(first) { return true }
    return bytes.indices.contains { isMark(bytes, at: $0) }
  }

  private static func isMark(_ bytes: [UInt8], at: Int) -> Bool {
    let next = at + 1 < bytes.count ? bytes[at + 1] : 0
    switch bytes[at] {
    // `{{ root }}`, `${root}`, `<%= root %>`, `" + root + "`
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
      UInt8(ascii: "'"), UInt8(ascii: "`"):
      return true
    case UInt8(ascii: "["): return next == UInt8(ascii: "[")
    case UInt8(ascii: "$"): return next == UInt8(ascii: "$") || next == UInt8(ascii: "(")
    // `%PUBLIC_URL%`, `%s`: no escape
    case UInt8(ascii: "%"):
      return at + 2 >= bytes.count || TextBytes.hexValue(next) == nil
        || TextBytes.hexValue(bytes[at + 2]) == nil
    // `__PUBLIC_PATH__`
    case UInt8(ascii: "_"):
      guard next == UInt8(ascii: "_"), at == 0 || bytes[at - 1] != UInt8(ascii: "_") else { return false }
      let name = bytes[(at + 2)...].prefix { isCapital($0) }
      return name.count > 3 && name.suffix(2).elementsEqual("__".utf8)
    default: return false
    }
  }

  private static func isCapital(_ byte: UInt8) -> Bool {
    byte >= 0x41 && byte <= 0x5A || byte == UInt8(ascii: "_") || byte >= 0x30 && byte <= 0x39
  }
}
