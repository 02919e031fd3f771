import Manifests
import System

/// What a release would leave in a bundle of a channel with a root.
package struct PlannedContent: Codable, Hashable, Sendable {
  package let bundle: BundleName
  /// The digest of what a release statement signs of it (docs/protocol.md §14).
  package let content: SHA256

  package init(bundle: BundleName, content: SHA256) {
    self.bundle = bundle
    self.content = content
  }
}

/// A bundle that devices would refuse: an element of `bundles` in a refusal `unsigned`, and of `unsigned` in a dry run.
package struct UnsignedContent: Codable, Hashable, Sendable {
  package let bundle: BundleName
  package let channel: ChannelName
  package let content: SHA256
  /// Why, such as `release-missing`: a result of the device's check.
  package let problem: String

  package init(bundle: BundleName, channel: ChannelName, content: SHA256, problem: String) {
    self.bundle = bundle
    self.channel = channel
    self.content = content
    self.problem = problem
  }
}
