/// The hosts that an app's pages may come from: names, and `*.example.com` for a domain and its subdomains.
///
/// Ports are ignored. `*` alone matches every host; it is for tools, which open no page.
package struct HostList: Hashable, Sendable {
  /// The maximum number of names.
  package static let limit = 256

  /// The names in lowercase, in the order given.
  package let names: [String]
  private let exact: Set<String>
  /// The domains of wildcards, with a leading dot.
  private let domains: [String]
  private let isEvery: Bool

  /// The list of every host.
  package static let every = HostList(["*"], exact: [], domains: [], isEvery: true)

  private init(_ names: [String], exact: Set<String>, domains: [String], isEvery: Bool) {
    self.names = names
    self.exact = exact
    self.domains = domains
    self.isEvery = isEvery
  }

  /// - Throws: for an empty list, one with more than `limit` names, or one with an invalid name.
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

  /// Returns a host as in URLs.
  private static func host(_ text: String, _ name: String) throws(HostListError) -> String {
    // Rejects characters that a URL would take for a port, a path or a user name.
    guard isHost(name), let url = try? ResourceURL("https://\(name)/"), url.authority == url.host,
      url.text == "https://\(url.host)/", url.host.lowercased() == name.lowercased()
    else { throw .name(text) }
    return String(url.host)
  }

  /// Whether a name is labels of letters, digits, `-` and `_` between dots, or an IPv6 address in brackets.
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

  /// This list; nil if it includes every host.
  package var limit: HostList? { isEvery ? nil : self }

  /// Whether a URL's host is in the list.
  package func contains(_ url: ResourceURL) -> Bool {
    if isEvery { return true }
    let host = url.host
    return exact.contains(String(host)) || domains.contains { host.hasSuffix($0) }
  }
}

/// Why names aren't a list of hosts.
package enum HostListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The list is empty.
  case empty
  case tooMany(Int)
  /// A text that is neither a host name nor `*.` and a host name.
  case name(String)

  /// What is wrong and what to do about it.
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
