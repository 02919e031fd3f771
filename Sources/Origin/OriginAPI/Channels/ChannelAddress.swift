import Manifests

/// A channel of an app, as named in the API's paths.
package struct ChannelAddress: Hashable, Sendable {
  package let app: AppName
  package let channel: ChannelName

  package init(_ app: AppName, _ channel: ChannelName) {
    self.app = app
    self.channel = channel
  }

  /// The path relative to `/api/v1/`.
  package var path: String { "apps/\(app)/channels/\(channel)" }
}
