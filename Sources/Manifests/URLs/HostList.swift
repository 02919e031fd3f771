/// The hosts that an app's pages may come from: names, and `*.example.com` for a domain and all below it.
///
/// Ports don't count. `*` alone stands for every host; it is for tools, which open no page.
package struct HostList: Hashable, Sendable {
  /// Names that a list may have.
  package static let limit = 256

  /// In the order given, in small letters.
  package let names: [String]
  private let exact: Set<String>
  /// Domains, with a dot in front.
  private let domains: [String]
  private let isEvery: Bool

  /// Every host.
  package static let every = HostList(["*"], exact: [], domains: [], isEvery: true)

  private init(_ names: [String], exact: Set<String>, domains: [String], isEvery: Bool) {
    self.names = names
    self.exact = exact
    self.domains = domains
    self.isEvery = isEvery
  }

  /// - Throws: for a list without a name, with more than `limit`, or with one that is no host.
  package init(_ list: [String]) throws(HostListError) {
    guard !list.isEmpty else { throw .empty }
    guard list.count <= Self.limit else { throw .tooMany(list.count) }
    var names: [String] = []
    var exact: Set<String> = []
    var domains: [String] = []
    for text in list where text != "*" {
      let isDomain = text.hasPrefix("*.")
      let host = try Self.host(text, isDomain ? String(text.dropFirst(2)) : text)
      names.append(isDomain ? "*.\(host)" : host)
      exact.insert(host)
      if isDomain { domains.append(".\(host)") }
    }
    let isEvery = list.contains("*")
    self.init(isEvery ? names + ["*"] : names, exact: exact, domains: domains, isEvery: isEvery)
  }

  /// A host as URLs have it.
  private static func host(_ text: String, _ name: String) throws(HostListError) -> String {
    // What isn't part of a host would be taken for a port, a path or a user.
    guard isHost(name), let url = try? ResourceURL("https://\(name)/"), url.authority == url.host,
      url.text == "https://\(url.host)/", url.host.lowercased() == name.lowercased()
    else { throw .name(text) }
    return String(url.host)
  }

  /// Labels of letters, digits, `-` and `_` between dots, or an IPv6 address in brackets.
  private static func isHost(_ name: String) -> Bool {
    if name.hasPrefix("["), name.hasSuffix("]") { return true }
    return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
      label in
      !label.isEmpty
        && label.allSatisfy { byte in
          ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }
  }

  /// These where they leave any host out; nil for every host.
  package var limit: HostList? { isEvery ? nil : self }

  /// Whether a URL's host is one of these.
  package func contains(_ url: ResourceURL) -> Bool {
    if isEvery { return true }
    let host = url.host
    return exact.contains(String(host)) || domains.contains { host.hasSuffix($0) }
  }
}

/// Why names are no list of hosts.
package enum HostListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no name.
  case empty
  case tooMany(Int)
  /// This is neither a host's name nor `*.` and one.
  case name(String)

  /// What is wrong and what to do.
  package var description: String {
    switch self {
    case .empty: "no hosts given; list those of the app's pages, such as m.example.com or *.example.com"
    case .tooMany(let count):
      "there are \(count) hosts, but \(HostList.limit) is the limit; use *.example.com"
    case .name(let text):
      "\"\(text)\" is not a host; write only its name, such as m.example.com or *.example.com"
    }
  }
}
