import System
import Values

/// `POST /blobs/missing`: asks which of these blobs have to be sent.
package struct MissingBlobsRequest: Sendable {
  /// How many are asked about in one request; the origin takes 100,000.
  package static let limit = 50_000

  /// How many are checked in one request, so that it takes no longer than requests may.
  package static let checkLimit = 200

  /// What the answer is to list; an older origin always lists the missing ones.
  package let answer: String
  package let sha256: [SHA256]
  /// Whether the origin is to read its files first: damaged ones are then among the missing. An older origin doesn't.
  package let check: Bool?

  package init(answer: String, sha256: [SHA256], check: Bool?) {
    self.answer = answer
    self.sha256 = sha256
    self.check = check
  }

  /// Asks for a list of the blobs that are present.
  package static let present = "present"

  /// The request as JSON, written directly: there may be 50,000 digests.
  package var json: [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(64 + sha256.count * (2 * SHA256.byteCount + 3))
    out.append(contentsOf: "{\"answer\":".utf8)
    CanonicalJSON.append(string: answer, to: &out)
    if check == true { out.append(contentsOf: ",\"check\":true".utf8) }
    out.append(contentsOf: ",\"sha256\":[".utf8)
    for (index, digest) in sha256.enumerated() {
      out.append(contentsOf: (index == 0 ? "\"" : ",\"").utf8)
      digest.appendHex(to: &out)
      out.append(UInt8(ascii: "\""))
    }
    out.append(contentsOf: "]}".utf8)
    return out
  }
}

/// The blobs that have to be sent or, if that was asked for, those that don't; in the order asked.
package struct MissingBlobsAnswer: Codable, Sendable {
  package var missing: [SHA256]?
  package var present: [SHA256]?

  package init(missing: [SHA256]) { self.missing = missing }
  package init(present: [SHA256]) { self.present = present }
}

/// `PUT /blobs/{sha256}`: whether the blob is new.
package struct BlobAnswer: Codable, Sendable {
  package let stored: Bool

  package init(stored: Bool) { self.stored = stored }
}

/// `POST /blobs`: how many files of a pack were stored.
package struct PackUploadAnswer: Codable, Sendable {
  package let stored: Int

  package init(stored: Int) { self.stored = stored }
}
