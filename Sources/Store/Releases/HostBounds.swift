import Manifests

/// URLs that an act may not name, since a channel or a token is limited to some hosts.
package struct ForeignURLs: Hashable, Sendable {
  /// Whose list they are outside of.
  package enum Owner: Hashable, Sendable {
    case channel(ChannelName)
    /// The token that was shown, by its name.
    case token(String)
  }

  /// Whose list it is.
  package let owner: Owner
  /// The list, as it was given.
  package let hosts: [String]
  /// How many there are.
  package fileprivate(set) var count = 0
  /// The first of them, as they came.
  package fileprivate(set) var first: [ResourceURL] = []

  /// How many are named.
  static let named = 5
}

/// The hosts whose URLs an act may name: those of its channel, and among these those of its token.
struct HostBounds {
  private var lists: [(hosts: HostList, foreign: ForeignURLs)] = []

  /// - Parameters:
  ///   - channel: nil where it is still to be made.
  ///   - hosts: the token's; nil: all.
  init(_ channel: ChannelInfo?, token name: String, _ hosts: HostList?) {
    if let channel, let list = channel.hosts { add(list, .channel(channel.name)) }
    if let hosts { add(hosts, .token(name)) }
  }

  private mutating func add(_ hosts: HostList, _ owner: ForeignURLs.Owner) {
    lists.append((hosts, ForeignURLs(owner: owner, hosts: hosts.names)))
  }

  /// Notes a URL that is named.
  mutating func note(_ url: ResourceURL) {
    for index in lists.indices where !lists[index].hosts.contains(url) {
      lists[index].foreign.count += 1
      if lists[index].foreign.first.count < ForeignURLs.named { lists[index].foreign.first.append(url) }
    }
  }

  /// - Throws: `foreignHosts` where a URL that was noted lies outside of one of the lists.
  func check() throws(StoreError) {
    if let list = lists.first(where: { $0.foreign.count > 0 }) { throw .foreignHosts(list.foreign) }
  }

  /// - Parameter content: a prefetch config, as it is stored.
  /// - Throws: `foreignHosts` where a page or a call lies outside of one of the lists.
  func check(prefetch content: [UInt8]) throws(StoreError) {
    if lists.isEmpty { return }
    var bounds = self
    for page in PrefetchConfig(reading: (try? JSONValue.parse(content)) ?? .null).pages {
      bounds.note(page.url)
      for call in page.calls { bounds.note(call.api) }
    }
    try bounds.check()
  }
}
