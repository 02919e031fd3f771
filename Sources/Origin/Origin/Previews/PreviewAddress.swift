import HTTP
import Values

/// Where releases are looked at: origins below one name, one for each ticket, such as `https://*.preview.example.com`.
///
/// Scripts of a release run there. No cookie of the console, which has a host of its own, is sent there or can be set from there, since
/// its name begins with `__Host-` (RFC 6265bis §4.1.3.2: such a cookie is sent to the very host that set it).
package struct PreviewAddress: Hashable, Sendable {
  /// `http` or `https`.
  package let scheme: String
  /// What follows the label of each host: `.preview.example.com`.
  package let suffix: String
  /// With its colon; empty for the scheme's own port.
  private let port: String

  /// Why a text isn't one.
  package enum Fault: Error, Hashable, Sendable {
    /// It isn't a scheme, a `*` as the first label of a host, and perhaps a port.
    case form
    /// Plain http, and the host isn't below `localhost`: whoever is on the way could read what is shown.
    case plain
  }

  /// Parses `https://*.preview.example.com` or `http://*.localhost:8081`.
  package init(_ text: String) throws(Fault) {
    guard let star = text.range(of: "://*."), text[star.upperBound...].utf8.allSatisfy(Self.isPart) else {
      throw .form
    }
    let label = String(repeating: "a", count: PreviewTicket.length)
    // The parser of URLs decides what a host is.
    guard let url = try? ResourceURL("\(text[..<star.lowerBound])://\(label).\(text[star.upperBound...])"),
      url.path == "/", url.query == nil, url.host.utf8.starts(with: "\(label).".utf8),
      url.host.utf8.count <= 253
    else { throw .form }
    scheme = url.scheme
    suffix = String(url.host.dropFirst(label.count))
    port = String(url.authority.dropFirst(url.host.count))
    guard scheme == "https" || suffix == ".localhost" || suffix.hasSuffix(".localhost") else { throw .plain }
  }

  /// On this machine: browsers find it under every name below `localhost` (RFC 6761 §6.3).
  package init(localPort: UInt16) {
    (scheme, suffix) = ("http", ".localhost")
    port = localPort == 80 ? "" : ":\(localPort)"
  }

  /// Letters, digits, `.`, `-` and a port: nothing that would end a source of a Content-Security-Policy.
  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
      UInt8(ascii: "/"):
      true
    default: false
    }
  }

  /// All of them, as a source of a Content-Security-Policy (CSP Level 3 §2.3.1).
  package var pattern: String { "\(scheme)://*\(suffix)\(port)" }

  /// The host and port of a label.
  func authority(of label: String) -> String { "\(label)\(suffix)\(port)" }

  /// The origin of a label: `https://LABEL.preview.example.com`.
  func origin(of label: String) -> String { "\(scheme)://\(authority(of: label))" }

  /// The host of a label, without port.
  package func host(of label: String) -> String { label + suffix }

  /// Whether a host, without port, is below the name.
  package func covers(host: some StringProtocol) -> Bool { host.lowercased().hasSuffix(suffix) }

  /// The label of a requested host, in lowercase; nil if it isn't one label below the name. A proxy may leave out the port.
  func label(of authority: RawSpan) -> String? {
    guard authority.byteCount <= 253 + 6 else { return nil }
    let text = authority.text.lowercased()
    let host = text.hasSuffix(port) ? text.dropLast(port.utf8.count) : text[...]
    guard host.hasSuffix(suffix) else { return nil }
    let label = host.dropLast(suffix.count)
    return label.isEmpty || label.utf8.contains(UInt8(ascii: ".")) ? nil : String(label)
  }
}

extension String {
  /// The first place of another text; nil if it isn't there.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
