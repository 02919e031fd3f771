import Manifests

/// Who froze a channel, when and why.
package struct ChannelFreeze: Hashable, Sendable {
  package let author: String
  /// Milliseconds since 1970.
  package let at: Int64
  package let reason: String
}

extension Database {
  /// The freeze of a channel; nil where it takes releases.
  func freeze(of channel: Int64) throws(StoreError) -> ChannelFreeze? {
    try first("SELECT author, at, reason FROM freeze WHERE channel_id = ?", channel) {
      ChannelFreeze(author: $0.get(0), at: $0.get(1), reason: $0.get(2))
    }
  }
}

/// A channel and whether it takes releases.
package struct ChannelState: Sendable {
  package let channel: ChannelInfo
  /// nil: it takes releases.
  package let freeze: ChannelFreeze?

  package init(channel: ChannelInfo, freeze: ChannelFreeze?) {
    self.channel = channel
    self.freeze = freeze
  }
}
