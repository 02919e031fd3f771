import Manifests
import System

/// The name under which a device keeps a file: the last component of its download URL, decoded once.
///
/// It comes from the network, so it is one path component that can lead nowhere else: 1 to 255 bytes of UTF-8
/// without `/` and NUL, neither `.` nor `..`.
struct CachedName: Hashable, Sendable {
  /// What the name is the percent-encoding of, as origins make them of URLs: so the text of a URL is in memory once, however
  /// many tables have its file's name. A name that is no such encoding has a `/` before it.
  private let source: String

  /// The URL of which an origin makes this name, where it does.
  var url: String { source }

  private static let slash = UInt8(ascii: "/")

  /// Nil where `component`, percent-encoded, gives no safe name.
  init?(encoded component: some StringProtocol) {
    guard let bytes = PercentEncoding.decode(component.utf8),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.init(file: text)
  }

  /// Nil where `text` itself is no safe name.
  init?(file text: String) {
    guard (1...255).contains(text.utf8.count), !text.utf8.contains(0), !text.utf8.contains(Self.slash),
      text != ".", text != ".."
    else { return nil }
    source = Self.source(of: text) ?? "/" + text
  }

  /// Nil where the last component of the URL's path gives no safe name.
  init?(download url: ResourceURL) {
    let path = url.path
    guard let slash = path.utf8.lastIndex(of: Self.slash) else { return nil }
    self.init(encoded: path[path.utf8.index(after: slash)...])
  }

  /// The name that an origin gives the file of a URL.
  init(of url: ResourceURL) {
    source = ResourceFileName.isEncoding(of: url) ? url.text : "/" + ResourceFileName(url).text
  }

  private init(source: String) { self.source = source }

  /// The same with the URL's own text in memory, where it is that URL's name.
  func sharing(_ url: ResourceURL) -> CachedName { source == url.text ? CachedName(source: url.text) : self }

  /// As it stands in a folder.
  var text: String {
    source.utf8.first == Self.slash ? String(source.dropFirst()) : PercentEncoding.encode(source)
  }

  /// What `name` is the one encoding of; nil where it is none.
  private static func source(of name: String) -> String? {
    guard let bytes = PercentEncoding.decode(name.utf8), bytes.first != slash,
      // Texts that are written in several ways are equal to each other in Swift; those of ASCII to none.
      bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
    else { return nil }
    let source = String(decoding: bytes, as: UTF8.self)
    return PercentEncoding.encode(source).utf8.elementsEqual(name.utf8) ? source : nil
  }
}
