import System
import Values

/// The path of a resource version's bytes: `{space}/{app id}/{manifest version}/{resource
/// version}/{uuid}/{name}`.
package struct DownloadPath: Hashable, Sendable, CustomStringConvertible {
  /// The channel, which the path names by its space.
  package let channel: ChannelName
  /// The app's number at its origin.
  package let appID: Int64
  /// The manifest version that introduced this resource version.
  package let manifestVersion: ManifestVersion
  /// The number of the URL's content, counted from 1.
  package let resourceVersion: Int64
  /// Made from the content's sha256.
  package let uuid: ResourceUUID
  /// The file name; in a URL, each `%` in it is escaped once more.
  package let name: ResourceFileName

  package init(
    channel: ChannelName, appID: Int64, manifestVersion: ManifestVersion, resourceVersion: Int64,
    sha256: SHA256, url: ResourceURL
  ) {
    self.channel = channel
    self.appID = appID
    self.manifestVersion = manifestVersion
    self.resourceVersion = resourceVersion
    uuid = ResourceUUID(sha256)
    name = ResourceFileName(url)
  }

  /// Parses a request path without the slash before `space`; nil unless it is exactly what `text` would be.
  package init?(parsing path: RawSpan) {
    guard let head = DownloadPathHead(path),
      let name = ResourceFileName(text: Self.text(path, head.name).replacingEscapedPercents())
    else { return nil }
    guard let channel = ChannelName(space: Self.text(path, head.space)) else { return nil }
    self.channel = channel
    appID = head.appID
    manifestVersion = head.manifestVersion
    resourceVersion = head.resourceVersion
    uuid = head.uuid
    self.name = name
    // Rejects an escape of anything but a percent sign, and an unescaped percent sign.
    guard name.escapedLength == head.name.count else { return nil }
  }

  /// The path's first part.
  package var space: String { channel.space }

  /// The path as in a URL.
  package var text: String {
    var out: [UInt8] = []
    append(to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  private func append(to out: inout [UInt8]) {
    out.append(contentsOf: space.utf8)
    for number in [appID, manifestVersion.number, resourceVersion] {
      out.append(UInt8(ascii: "/"))
      CanonicalJSON.append(integer: number, to: &out)
    }
    out.append(UInt8(ascii: "/"))
    uuid.append(to: &out)
    out.append(UInt8(ascii: "/"))
    PercentEncoding.append(encodingPercentsOf: name.text, to: &out)
  }

  /// The path as in a folder, with the name unescaped.
  package var filePath: String {
    "\(space)/\(appID)/\(manifestVersion)/\(resourceVersion)/\(uuid)/\(name)"
  }

  package var description: String { text }

  /// Returns the absolute URL under a channel's public URL.
  package func url(publicURL: BaseURL) -> String {
    var out: [UInt8] = []
    // Enough for a typical URL, so that it needs one allocation.
    out.reserveCapacity(320)
    out.append(contentsOf: publicURL.text.utf8)
    out.append(UInt8(ascii: "/"))
    append(to: &out)
    return String(decoding: out, as: UTF8.self)
  }

  private static func text(_ bytes: RawSpan, _ range: Range<Int>) -> String {
    bytes.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}

extension ResourceFileName {
  /// The name as a path segment of a URL: `https%253A%252F%252F…`.
  package var escaped: String { PercentEncoding.encodePercents(text) }

  var escapedLength: Int {
    text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "%") ? 3 : 1) }
  }
}

extension String {
  /// Returns the text with each `%25` replaced by `%`.
  fileprivate func replacingEscapedPercents() -> String {
    var out: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      out.append(byte)
      if byte == UInt8(ascii: "%"), rest.starts(with: "25".utf8) { rest = rest.dropFirst(2) }
    }
    return String(decoding: out, as: UTF8.self)
  }
}

/// The request path of a download, split and checked without allocating; the name isn't parsed.
package struct DownloadPathHead: Sendable {
  /// The byte range of the first segment: `xcache` or `xcache_…`.
  package let space: Range<Int>
  package let appID: Int64
  package let manifestVersion: ManifestVersion
  package let resourceVersion: Int64
  package let uuid: ResourceUUID
  /// The byte range of the name, escaped as in the URL. Compare it with `ResourceFileName.escaped`.
  package let name: Range<Int>

  /// Parses a path without the slash before its first segment; nil unless it has the form of a download.
  package init?(_ path: RawSpan) {
    var at = 0
    space = Self.segment(path, &at)
    guard let appID = Self.counter(path, &at), let manifest = Self.counter(path, &at),
      let resource = Self.counter(path, &at), let uuid = Self.uuid(path, &at), at < path.byteCount
    else { return nil }
    self.appID = appID
    manifestVersion = ManifestVersion(manifest)
    resourceVersion = resource
    self.uuid = uuid
    name = at..<path.byteCount
    for i in name where path.unsafeLoad(fromByteOffset: i, as: UInt8.self) == UInt8(ascii: "/") { return nil }
  }

  /// Returns the segment that begins at `at`, which moves past the segment's slash, or to the end.
  private static func segment(_ path: RawSpan, _ at: inout Int) -> Range<Int> {
    let start = at
    while at < path.byteCount {
      let byte = path.unsafeLoad(fromByteOffset: at, as: UInt8.self)
      at += 1
      if byte == UInt8(ascii: "/") { return start..<at - 1 }
    }
    return start..<at
  }

  private static func counter(_ path: RawSpan, _ at: inout Int) -> Int64? {
    guard let number = Decimal.parse(path, segment(path, &at)), number > 0 else { return nil }
    return number
  }

  private static func uuid(_ path: RawSpan, _ at: inout Int) -> ResourceUUID? {
    let range = segment(path, &at)
    return range.count == ResourceUUID.textLength ? ResourceUUID(path, at: range.lowerBound) : nil
  }
}

/// A download URL split into the public URL and the path below it.
package struct DownloadPlace: Hashable, Sendable {
  /// The public URL, without a slash at its end.
  package let base: String
  /// The resource's path under the public URL.
  package let path: DownloadPath

  /// The number of segments in a `DownloadPath`.
  private static let depth = 6

  /// Parses a download URL; nil if the text isn't one.
  package init?(_ download: String) {
    let bytes = download.utf8
    var index = bytes.endIndex
    var slashes = 0
    while slashes < Self.depth {
      guard index > bytes.startIndex else { return nil }
      bytes.formIndex(before: &index)
      if bytes[index] == UInt8(ascii: "/") { slashes += 1 }
    }
    let rest = Array(bytes[bytes.index(after: index)...])
    guard let path = DownloadPath(parsing: rest.span.bytes) else { return nil }
    base = String(download[..<index])
    self.path = path
  }
}
