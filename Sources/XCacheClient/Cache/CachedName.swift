import Manifests

/// The name under which a device keeps a file: the last component of its download URL, decoded once.
///
/// It comes from the network, so it is one path component that can lead nowhere else: 1 to 255 bytes of UTF-8
/// without `/` and NUL, neither `.` nor `..`.
struct CachedName: Hashable, Sendable {
  let text: String

  /// Nil where `component`, percent-encoded, gives no safe name.
  init?(encoded component: some StringProtocol) {
    guard let bytes = PercentEncoding.decode(component.utf8),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.init(file: text)
  }

  /// Nil where `text` itself is no safe name.
  init?(file text: String) {
    guard (1...255).contains(text.utf8.count), !text.utf8.contains(0), !text.utf8.contains(UInt8(ascii: "/")),
      text != ".", text != ".."
    else { return nil }
    self.text = text
  }

  /// Nil where the last component of the URL's path gives no safe name.
  init?(download url: ResourceURL) {
    let path = url.path
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    self.init(encoded: path[path.utf8.index(after: slash)...])
  }
}
