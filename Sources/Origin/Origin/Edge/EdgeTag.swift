import Manifests

/// What the answers of one channel's polls have in common, by which a shared cache drops them: `xcache:yanxuan:online`.
package struct EdgeTag: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ app: AppName, _ channel: ChannelName) { text = "xcache:\(app):\(channel)" }

  package var description: String { text }
}
