import Manifests
import Values

/// A channel of an app, as named in copies.
package struct MirroredChannel: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let app: AppName
  package let channel: ChannelName

  package init(_ app: AppName, _ channel: ChannelName) {
    self.app = app
    self.channel = channel
  }

  /// The folder of the channel's documents, such as `xcache/shop`.
  package var folder: String { "\(channel.space)/\(app)" }

  package var description: String { "\(app) \(channel)" }

  package var json: JSONValue { ["app": .string(app.text), "channel": .string(channel.text)] }

  /// Parses a channel; nil if it isn't one.
  package init?(json: JSONValue) {
    guard let app = json["app"]?.string.flatMap({ try? AppName($0) }),
      let channel = json["channel"]?.string.flatMap({ try? ChannelName($0) })
    else { return nil }
    self.init(app, channel)
  }

  package static func < (a: MirroredChannel, b: MirroredChannel) -> Bool {
    (a.app.text, a.channel.text) < (b.app.text, b.channel.text)
  }
}

/// A selection of apps and channels: those requested for a run, or those that a token may read.
package struct ChannelSelection: Hashable, Sendable {
  /// The apps; empty means every app.
  package var apps: Set<AppName>
  /// The channels; empty means every channel.
  package var channels: Set<ChannelName>

  package static let all = ChannelSelection()

  package init(apps: Set<AppName> = [], channels: Set<ChannelName> = []) {
    self.apps = apps
    self.channels = channels
  }

  package var isAll: Bool { apps.isEmpty && channels.isEmpty }

  /// Whether the channel is selected.
  package func contains(_ channel: MirroredChannel) -> Bool {
    (apps.isEmpty || apps.contains(channel.app)) && contains(channel.channel)
  }

  /// Whether channels of this name are selected, for some app.
  package func contains(_ channel: ChannelName) -> Bool { channels.isEmpty || channels.contains(channel) }

  /// Describes the selected names that are in none of `channels`, or returns nil: a misspelt name matches nothing, and a run
  /// with only the others would look successful.
  func unknown(among channels: [MirroredChannel]) -> String? {
    ChannelSelection(
      apps: apps.subtracting(channels.map(\.app)),
      channels: self.channels.subtracting(channels.map(\.channel))
    ).message
  }

  /// A description such as `app shop, channel online or test`; nil for everything.
  package var message: String? {
    func list(_ kind: String, _ names: [String]) -> String? {
      names.isEmpty ? nil : "\(kind) \(names.sorted().joined(separator: " or "))"
    }
    let parts = [list("app", apps.map(\.text)), list("channel", channels.map(\.text))].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
