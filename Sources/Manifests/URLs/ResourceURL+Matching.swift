extension ResourceURL {
  /// What two URLs have in common that name one resource: escapes of printable ASCII are decoded, except
  /// those of `% / ? # \ & = + ;`, which would mean something else. Other escapes stay as written.
  package var matchKey: String { Self.matchKey(of: text) }

  /// The same for a part of a URL that cuts no escape.
  static func matchKey(of text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    let bytes = Array(text.utf8)
    var key: [UInt8] = []
    key.reserveCapacity(bytes.count)
    var at = 0
    while at < bytes.count {
      if let decoded = decodable(bytes, at: at) {
        key.append(decoded)
        at += 3
      } else {
        key.append(bytes[at])
        at += 1
      }
    }
    return String(decoding: key, as: UTF8.self)
  }

  private static func decodable(_ bytes: [UInt8], at: Int) -> UInt8? {
    guard bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count, let high = ASCII.hexValue(bytes[at + 1]),
      let low = ASCII.hexValue(bytes[at + 2])
    else { return nil }
    let byte = high << 4 | low
    guard byte >= 0x20, byte <= 0x7E, !"%/?#\\&=+;".utf8.contains(byte) else { return nil }
    return byte
  }

  /// Whether this page's address is the one that `entry` names: scheme, host, port and path; the query only
  /// where the entry has one.
  package func isPage(of entry: ResourceURL) -> Bool {
    if entry.query != nil { return matchKey == entry.matchKey }
    guard let page = try? ResourceURL(String(withoutQuery)) else { return false }
    return page.matchKey == entry.matchKey
  }
}
