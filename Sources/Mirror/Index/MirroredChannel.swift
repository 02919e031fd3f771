import Manifests

/// A channel of an app, as copies name it.
package struct MirroredChannel: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let app: AppName
  package let channel: ChannelName

  package init(_ app: AppName, _ channel: ChannelName) {
    self.app = app
    self.channel = channel
  }

  /// `xcache/shop`, where the channel's documents are.
  package var folder: String { "\(channel.space)/\(app)" }

  package var description: String { "\(app) \(channel)" }

  package var json: JSONValue { ["app": .string(app.text), "channel": .string(channel.text)] }

  /// nil where it names none.
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

/// Some apps and some channels: those that a run was asked for, or those that a token may read.
package struct ChannelSelection: Hashable, Sendable {
  /// Empty: every app.
  package var apps: Set<AppName>
  /// Empty: every channel.
  package var channels: Set<ChannelName>

  package static let all = ChannelSelection()

  package init(apps: Set<AppName> = [], channels: Set<ChannelName> = []) {
    self.apps = apps
    self.channels = channels
  }

  package var isAll: Bool { apps.isEmpty && channels.isEmpty }

  /// Whether the channel is one of those that are meant.
  package func contains(_ channel: MirroredChannel) -> Bool {
    (apps.isEmpty || apps.contains(channel.app)) && contains(channel.channel)
  }

  /// Whether the channels of this name are meant, of whatever app.
  package func contains(_ channel: ChannelName) -> Bool { channels.isEmpty || channels.contains(channel) }

  /// The names that none of `channels` has, as words; nil where each is one's: a misspelt name is none's, and a run
  /// that goes by the others alone would look right.
  func unknown(among channels: [MirroredChannel]) -> String? {
    ChannelSelection(
      apps: apps.subtracting(channels.map(\.app)),
      channels: self.channels.subtracting(channels.map(\.channel))
    ).message
  }

  /// `app shop, channel online or test`; nil for all.
  package var message: String? {
    func list(_ kind: String, _ names: [String]) -> String? {
      names.isEmpty ? nil : "\(kind) \(names.sorted().joined(separator: " or "))"
    }
    let parts = [list("app", apps.map(\.text)), list("channel", channels.map(\.text))].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
