import Manifests
import Store
import Values

/// A version that is looked at, under an origin for each of its hosts.
struct PreviewedVersion: Sendable {
  /// A host of the version's URLs.
  struct Host: Sendable {
    /// With its port, as URLs have it: `m.example.com`.
    let authority: String
    /// `https`, `http`, or both.
    let schemes: [String]
    /// The ticket that stands for it.
    let label: String
  }

  /// As it was when the tickets were made; its versions never change.
  let channel: ChannelInfo
  let version: ManifestVersion
  let hosts: [Host]
  let fallbacks: FallbackTable<ResourceURL>
  /// The origins whose pages may frame it: the console's.
  let frames: [String]
  /// In milliseconds since 1970.
  let expiresAt: Int64

  /// Returns the host of a URL; nil if no ticket stands for it.
  func host(of url: ResourceURL) -> Host? { hosts.first { $0.authority == url.authority } }
}

/// What a version's manifest says of its pages and hosts.
struct PreviewSurvey: Sendable {
  /// The html documents, sorted; at most `pageLimit`, and how many there are.
  private(set) var pages: [ResourceURL] = []
  private(set) var pageCount = 0
  private(set) var fallbacks = FallbackTable<ResourceURL>()
  /// Hosts with the schemes and the number of their URLs.
  private var hosts: [Substring: (schemes: Set<String>, urls: Int)] = [:]

  static let pageLimit = 200
  /// More hosts than that aren't shown: each takes a ticket, and a place in every answer's policy.
  static let hostLimit = 16
  /// The bytes of all URLs of pages that are named.
  private static let pageBytes = 64 << 10

  /// Reads a kept version.
  /// - Throws: `unknownVersion`.
  init(_ store: Store, _ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) {
    var answering: [(url: ResourceURL, ctype: String, fallbacks: PageFallbacks)] = []
    var bytes = 0
    try store.eachEntry(of: channel, at: version) { url, entry in
      var host = hosts[url.authority] ?? ([], 0)
      host.schemes.insert(url.scheme)
      host.urls += 1
      hosts[url.authority] = host
      guard PageFallbacks.isDocument(entry.ctype) else { return }
      pageCount += 1
      bytes += url.text.utf8.count
      if pages.count < Self.pageLimit, bytes <= Self.pageBytes { pages.append(url) }
      if let json = entry.others["fallback"], let own = try? PageFallbacks(json: json) {
        answering.append((url, entry.ctype, own))
      }
    }
    fallbacks = FallbackTable(answering)
  }

  /// The hosts, those with the most URLs first, but that of a page before all.
  func hosts(before page: ResourceURL) -> [(authority: String, schemes: [String])] {
    let sorted = hosts.sorted { a, b in
      if (a.key == page.authority) != (b.key == page.authority) { return a.key == page.authority }
      return a.value.urls == b.value.urls ? a.key < b.key : a.value.urls > b.value.urls
    }
    return sorted.prefix(Self.hostLimit).map { (String($0.key), $0.value.schemes.sorted().reversed()) }
  }
}
