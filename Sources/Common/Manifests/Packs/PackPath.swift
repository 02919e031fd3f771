import System
import Values

/// The path of a pack: `{space}/{app}/pack/{A}-{B}-{16 hex digits of its sha256}.xpk`; of a first pack, A is 0.
package struct PackPath: Hashable, Sendable, CustomStringConvertible {
  package let channel: ChannelName
  package let app: AppName
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// The first 16 hexadecimal digits of the pack's SHA-256.
  package let mark: String

  package init(
    channel: ChannelName, app: AppName, base: ManifestVersion, version: ManifestVersion, sha256: SHA256
  ) {
    self.channel = channel
    self.app = app
    self.base = base
    self.version = version
    mark = String(sha256.hex.prefix(16))
  }

  /// Parses a path without the slash before `space`; nil unless it is exactly what `text` would be.
  package init?(text: some StringProtocol) {
    let parts = String(text).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, parts[2] == "pack", parts[3].hasSuffix(".xpk"),
      let channel = ChannelName(space: parts[0]), let app = try? AppName(parts[1])
    else { return nil }
    let name = parts[3].dropLast(4).split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard name.count == 3, let base = ManifestVersion(text: name[0]),
      let version = ManifestVersion(text: name[1]),
      base < version, name[2].utf8.count == 16,
      name[2].utf8.allSatisfy({ ASCII.isDigit($0) || (0x61...0x66).contains($0) })
    else { return nil }
    self.channel = channel
    self.app = app
    self.base = base
    self.version = version
    mark = name[2]
  }

  /// Parses the path at the end of a pack's URL; nil if there is none.
  package init?(download: String) {
    self.init(
      text: download.split(separator: "/", omittingEmptySubsequences: false).suffix(4).joined(separator: "/"))
  }

  /// Whether the pack is a first pack: it leads from nothing.
  package var isFirst: Bool { base == .none }

  /// The last segment of the path.
  package var fileName: String { "\(base)-\(version)-\(mark).xpk" }
  package var text: String { "\(channel.space)/\(app)/pack/\(fileName)" }
  package var description: String { text }

  /// Returns the absolute URL under a channel's public URL.
  package func url(publicURL: BaseURL) -> String { publicURL.text + "/" + text }
}
