import Manifests
import System
import Values

/// The name under which a device keeps a file: the last component of its download URL, decoded once.
///
/// It comes from the network, so it is always a single safe path component: 1 to 255 bytes of UTF-8 without `/` and NUL,
/// neither `.` nor `..`.
struct CachedName: Hashable, Sendable {
  /// The text that the name percent-encodes, which is the URL if an origin made the name: so a URL's text is in memory only
  /// once, however many tables hold its file's name. Any other name is stored with a `/` before it.
  private let source: String

  /// The URL that an origin makes this name from, if it does.
  var url: String { source }

  private static let slash = UInt8(ascii: "/")

  /// Decodes `component`; nil if the result is no safe name.
  init?(encoded component: some StringProtocol) {
    guard let bytes = PercentEncoding.decode(component.utf8),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.init(file: text)
  }

  /// Creates the name `text`; nil if it isn't safe.
  init?(file text: String) {
    guard (1...255).contains(text.utf8.count), !text.utf8.contains(0), !text.utf8.contains(Self.slash),
      text != ".", text != ".."
    else { return nil }
    source = Self.source(of: text) ?? "/" + text
  }

  /// Creates a name from the last component of the URL's path; nil if it isn't safe.
  init?(download url: ResourceURL) {
    let path = url.path
    guard let slash = path.utf8.lastIndex(of: Self.slash) else { return nil }
    self.init(encoded: path[path.utf8.index(after: slash)...])
  }

  /// Creates the name that an origin gives the file of a URL.
  init(of url: ResourceURL) {
    source = ResourceFileName.isEncoding(of: url) ? url.text : "/" + ResourceFileName(url).text
  }

  private init(source: String) { self.source = source }

  /// Returns the same name, sharing the URL's storage if it is that URL's name.
  func sharing(_ url: ResourceURL) -> CachedName { source == url.text ? CachedName(source: url.text) : self }

  /// The file name.
  var text: String {
    source.utf8.first == Self.slash ? String(source.dropFirst()) : PercentEncoding.encode(source)
  }

  /// Returns the text that `name` is the canonical encoding of; nil if there is none.
  private static func source(of name: String) -> String? {
    guard let bytes = PercentEncoding.decode(name.utf8), bytes.first != slash,
      // Swift strings compare by canonical equivalence, so differently encoded texts can be equal; ASCII ones can't.
      bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
    else { return nil }
    let source = String(decoding: bytes, as: UTF8.self)
    return PercentEncoding.encode(source).utf8.elementsEqual(name.utf8) ? source : nil
  }
}
