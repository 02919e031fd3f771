import Manifests
import Values

/// URLs that an act may not name, because a channel or a token is limited to certain hosts.
package struct ForeignURLs: Hashable, Sendable {
  /// Whose host list excludes them.
  package enum Owner: Hashable, Sendable {
    case channel(ChannelName)
    /// The request's token, by name.
    case token(String)
  }

  /// Whose host list it is.
  package let owner: Owner
  /// The host list as it was given.
  package let hosts: [String]
  /// The number of such URLs.
  package fileprivate(set) var count = 0
  /// The first of them, in the order of the request.
  package fileprivate(set) var first: [ResourceURL] = []

  /// The most URLs in `first`.
  static let named = 5

  /// The list with the hosts of `first`, each once.
  var wanted: [String] {
    var names = hosts
    for host in first.map({ String($0.host) }) where !names.contains(host) { names.append(host) }
    return names
  }
}

/// The hosts whose URLs an act may name: those that both its channel and its token allow.
struct HostBounds {
  private var lists: [(hosts: HostList, foreign: ForeignURLs)] = []

  /// - Parameters:
  ///   - channel: nil if it is yet to be created.
  ///   - name: the token's name.
  ///   - hosts: the token's hosts; nil: all.
  init(_ channel: ChannelInfo?, token name: String, _ hosts: HostList?) {
    if let channel, let list = channel.hosts { add(list, .channel(channel.name)) }
    if let hosts { add(hosts, .token(name)) }
  }

  private mutating func add(_ hosts: HostList, _ owner: ForeignURLs.Owner) {
    lists.append((hosts, ForeignURLs(owner: owner, hosts: hosts.names)))
  }

  /// Notes a URL that the act names.
  mutating func note(_ url: ResourceURL) {
    for index in lists.indices where !lists[index].hosts.contains(url) {
      lists[index].foreign.count += 1
      if lists[index].foreign.first.count < ForeignURLs.named { lists[index].foreign.first.append(url) }
    }
  }

  /// - Throws: `foreignHosts` if a noted URL is on a host that one of the lists doesn't have.
  func check() throws(StoreError) {
    if let list = lists.first(where: { $0.foreign.count > 0 }) { throw .foreignHosts(list.foreign) }
  }

  /// Checks the pages and calls of a prefetch config.
  /// - Parameter content: the config as it is stored.
  /// - Throws: `foreignHosts` if one of them is on a host that one of the lists doesn't have.
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
