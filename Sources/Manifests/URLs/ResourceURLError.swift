/// Why a text can't be the URL of a resource.
package struct ResourceURLError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    /// No scheme: the URL isn't absolute.
    case relative
    /// A scheme other than http and https.
    case scheme(String)
    /// A tab or a line break.
    case lineBreak
    /// A user name or password.
    case userinfo
    /// No host.
    case noHost
    /// A host with characters outside ASCII, which has to be written in its ASCII form (`xn--…`).
    case hostNotASCII
    /// A byte that a host can't hold.
    case hostByte(UInt8)
    /// Not an IPv4 address, though its last part is a number.
    case ipv4
    /// Not an IPv6 address.
    case ipv6
    /// Not a port.
    case port
    /// Longer than `ResourceURL.limit` bytes.
    case tooLong(Int)
    /// A base URL with `?` or `#`.
    case baseWithQuery
    /// A file path with an empty part, `.` or `..`.
    case path
    /// A file path that isn't UTF-8; `text` has U+FFFD in place of what is wrong.
    case pathNotUTF8
  }

  /// The URL or file path as given.
  package let text: String
  package let problem: Problem
}
