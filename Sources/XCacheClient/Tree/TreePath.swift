import Manifests

/// The path below a base URL at which a file lies: its components, percent-decoded.
///
/// Each is one that can lead nowhere else, so that no URL leaves the tree.
struct TreePath: Hashable, Sendable {
  /// Bytes, since `String` takes two spellings of one name as equal.
  let bytes: [UInt8]

  /// Nil where the URL isn't below `base`, has a query, or names no file: an empty component, `.` or `..`, or an
  /// escaped `/` or NUL.
  init?(_ url: ResourceURL, below base: BaseURL) {
    guard url.query == nil, url.text.hasPrefix(base.text + "/") else { return nil }
    var bytes: [UInt8] = []
    for component in url.text.utf8.dropFirst(base.text.utf8.count + 1)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    {
      guard let name = CachedName(encoded: Substring(component)) else { return nil }
      if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
      bytes += name.text.utf8
    }
    self.bytes = bytes
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The folders above it, outermost first.
  var parents: [[UInt8]] {
    bytes.indices.filter { bytes[$0] == UInt8(ascii: "/") }.map { Array(bytes[..<$0]) }
  }
}
