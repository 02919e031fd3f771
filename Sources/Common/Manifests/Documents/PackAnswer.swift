import System
import Values

/// A pack that an answer names, instead of a patch or, as a first pack, beside a whole manifest: its URL and its size.
package struct PackOffer: Hashable, Sendable {
  /// The most bytes of an answer that may name a first pack.
  static let longest = 16 << 10

  /// The absolute URL of the pack.
  package let download: String
  /// The size of the pack in bytes.
  package let size: Int64

  package init(download: String, size: Int64) {
    self.download = download
    self.size = size
  }

  /// - Throws: `member` with the name of the one that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    self.init(download: try json.string("download"), size: try json.size("size"))
  }

  /// The offer as answers have it.
  package var json: JSONValue { ["download": .string(download), "size": .integer(size)] }
}

/// An answer that names a pack: one more download turns the manifest of `base` into that of `version`.
package struct PackAnswer: Hashable, Sendable {
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// The digest of the resulting resourcemap.
  package let digest: SHA256
  package let pack: PackOffer
  package let extras: AnswerExtras
  /// The member `trust`, as canonical JSON when written, and as it is when read; nil if there is none.
  package let trust: [UInt8]?

  package init(
    base: ManifestVersion, version: ManifestVersion, digest: SHA256, pack: PackOffer,
    extras: AnswerExtras = .none, trust: [UInt8]? = nil
  ) {
    self.base = base
    self.version = version
    self.digest = digest
    self.pack = pack
    self.extras = extras
    self.trust = trust
  }
}

extension Documents {
  /// Returns the answer that names a pack.
  package static func pack(_ answer: PackAnswer) -> [UInt8] {
    var data = ObjectWriter()
    data.append(key: "base", string: answer.base.text)
    data.append(key: "digest", string: answer.digest.hex)
    data.append(edgeOf: answer.extras)
    data.append(answer.extras.interval)
    data.append(key: "pack") { CanonicalJSON.append(answer.pack.json, to: &$0) }
    data.append(documentsOf: answer.extras)
    data.append(releasesOf: answer.extras, trust: answer.trust)
    data.append(key: "update") { CanonicalJSON.append(raw: "true", to: &$0) }
    data.append(key: "version", string: answer.version.text)
    return success.around(data.finish())
  }
}
