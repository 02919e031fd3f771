import Manifests
import Values

extension Store {
  /// How many origins of a channel are told apart.
  package static let pageOrigins = 256

  /// The origins (RFC 6454) of a channel's URLs, such as `https://m.example.com:8080`: of those that any kept version has, and at most
  /// ``pageOrigins`` of them, as browsers write them in the field `Origin`.
  ///
  /// One look into an index for each, however many URLs there are.
  package func pageOrigins(of channel: ChannelInfo) throws(StoreError) -> Set<[UInt8]> {
    try connections.reading { (db) throws(StoreError) in
      var origins: Set<[UInt8]> = []
      var from = ""
      while origins.count < Self.pageOrigins,
        let text = try db.value(
          String.self, "SELECT text FROM url WHERE channel_id = ? AND text >= ? ORDER BY text LIMIT 1",
          channel.id, from)
      {
        // Behind this text in any case: a damaged row, which `doctor` names, must neither keep this going nor an origin from starting.
        from = text + "\u{1}"
        guard let url = try? Stored.url(text) else { continue }
        let origin = "\(url.scheme)://\(url.authority)"
        origins.insert(Array(origin.utf8))
        // A path begins with a slash: behind all of them is what begins with the byte after it.
        from = max(from, origin + "0")
      }
      return origins
    }
  }
}
