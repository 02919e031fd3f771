import System
import Values

/// A delta that an answer lists: the base it needs, its URL and its size.
package struct DeltaOffer: Hashable, Sendable {
  /// The resource that it produces.
  package let url: ResourceURL
  /// The digest of the base to decode it with.
  package let base: SHA256
  /// The absolute URL of the delta.
  package let download: String
  /// The size of the delta in bytes.
  package let size: Int64

  package init(url: ResourceURL, base: SHA256, download: String, size: Int64) {
    self.url = url
    self.base = base
    self.download = download
    self.size = size
  }

  init(url: ResourceURL, json: JSONValue) throws(JSONError) {
    self.init(
      url: url, base: try json.sha256("base"), download: try json.string("download"),
      size: try json.size("size"))
  }

  /// Returns the value of `deltas` for offers that are sorted by URL.
  package static func render(_ offers: some Collection<DeltaOffer>) -> [UInt8] {
    var writer = ObjectWriter(reserving: offers.count * 320)
    for offer in offers { writer.append(key: offer.url.text) { offer.append(to: &$0) } }
    return writer.finish()
  }

  private func append(to out: inout [UInt8]) {
    let value: JSONValue = [
      "base": .string(base.hex), "download": .string(download), "size": .integer(size),
    ]
    CanonicalJSON.append(value, to: &out)
  }
}

/// The version that a device has, and the deltas over its resources.
package struct DocumentBase: Hashable, Sendable {
  /// The version that the device has.
  package let version: ManifestVersion
  /// The deltas, as `DeltaOffer.render(_:)` writes them.
  package let deltas: [UInt8]

  package init(_ version: ManifestVersion, deltas: [UInt8] = Array("{}".utf8)) {
    self.version = version
    self.deltas = deltas
  }
}
