import System
import Values

/// The path of a delta: `{space}/delta/{target sha256}/{base sha256}.dcz`.
package struct DeltaPath: Hashable, Sendable, CustomStringConvertible {
  /// The channel whose devices it is for.
  package let channel: ChannelName
  /// The digest of the bytes that it produces.
  package let target: SHA256
  /// The digest of the base to decode it with.
  package let base: SHA256

  package init(channel: ChannelName, target: SHA256, base: SHA256) {
    self.channel = channel
    self.target = target
    self.base = base
  }

  /// Parses a request path without the slash before `space`; nil unless it is exactly what `text` would be.
  package init?(parsing path: RawSpan) {
    let text = path.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[1] == "delta", let channel = ChannelName(space: String(parts[0])),
      let target = SHA256(hex: parts[2]), parts[3].hasSuffix(".dcz"),
      let base = SHA256(hex: parts[3].dropLast(4))
    else { return nil }
    self.init(channel: channel, target: target, base: base)
  }

  /// Parses the path at the end of a delta's URL; nil if there is none.
  package init?(download: String) {
    let parts = download.split(separator: "/", omittingEmptySubsequences: false).suffix(4)
    self.init(parsing: Array(parts.joined(separator: "/").utf8).span.bytes)
  }

  package var text: String { "\(channel.space)/delta/\(target)/\(base).dcz" }
  package var description: String { text }

  /// Returns the absolute URL under a channel's public URL.
  package func url(publicURL: BaseURL) -> String { publicURL.text + "/" + text }
}
