import Manifests
import System

/// `POST /blobs/missing`: which of these have to be sent?
package struct MissingBlobsRequest: Encodable, Sendable {
  /// How many are asked about at once: the origin takes 100,000.
  package static let limit = 50_000

  package let sha256: [SHA256]
}

/// Those that have to be sent, in the order asked.
package struct MissingBlobsAnswer: Codable, Sendable {
  package let missing: [SHA256]

  package init(missing: [SHA256]) { self.missing = missing }
}

/// `PUT /blobs/{sha256}`: whether it wasn't there before.
package struct BlobAnswer: Codable, Sendable {
  package let stored: Bool

  package init(stored: Bool) { self.stored = stored }
}

/// `POST /blobs`: how many files of a pack are stored now.
package struct PackAnswer: Codable, Sendable {
  package let stored: Int

  package init(stored: Int) { self.stored = stored }
}

extension OriginClient {
  /// Which of the digests the origin lacks.
  package func missing(of digests: [SHA256]) throws(OriginError) -> Set<SHA256> {
    var missing: Set<SHA256> = []
    var rest = digests[...]
    while !rest.isEmpty {
      let part = rest.prefix(MissingBlobsRequest.limit)
      rest = rest.dropFirst(part.count)
      var call = OriginCall("POST", "blobs/missing", MissingBlobsRequest(sha256: Array(part)))
      call.isRepeatable = true
      missing.formUnion(try send(call, as: MissingBlobsAnswer.self).value.missing)
    }
    return missing
  }
}
