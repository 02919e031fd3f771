import System

/// Where a resource version's bytes are:
/// `{space}/{app id}/{manifest version}/{resource version}/{uuid}/{name}`.
package struct DownloadPath: Hashable, Sendable, CustomStringConvertible {
  package let channel: ChannelName
  package let appID: Int64
  /// The manifest version that brought this resource version in.
  package let manifestVersion: ManifestVersion
  package let resourceVersion: Int64
  package let uuid: ResourceUUID
  /// The file's name; in a URL each of its `%` is escaped once more.
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

  /// Reads a request path without the slash before `space`; nil unless it is exactly what `text` would be.
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
    // An escape of anything but a percent sign, or an unescaped one, ends here.
    guard name.escapedLength == head.name.count else { return nil }
  }

  package var space: String { channel.space }

  /// The path as it stands in a URL.
  package var text: String {
    "\(space)/\(appID)/\(manifestVersion)/\(resourceVersion)/\(uuid)/\(name.escaped)"
  }

  /// The path as it stands in a folder, names unescaped.
  package var filePath: String {
    "\(space)/\(appID)/\(manifestVersion)/\(resourceVersion)/\(uuid)/\(name)"
  }

  package var description: String { text }

  /// The absolute URL under a channel's public URL.
  package func url(publicURL: BaseURL) -> String { publicURL.text + "/" + text }

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
  /// With each `%25` as `%`.
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
