/// A request path of a download, split and checked without allocating; the name is left as it is.
package struct DownloadPathHead: Sendable {
  /// Where the first segment is, in bytes: `xcache` or `xcache_…`.
  package let space: Range<Int>
  package let appID: Int64
  package let manifestVersion: ManifestVersion
  package let resourceVersion: Int64
  package let uuid: ResourceUUID
  /// Where the name is, in bytes, escaped as in the URL. Compare it with `ResourceFileName.escaped`.
  package let name: Range<Int>

  /// Reads a path without the slash before its first segment; nil unless it has the shape of a download.
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

  /// The segment that begins at `at`, which moves behind its slash, or to the end.
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
