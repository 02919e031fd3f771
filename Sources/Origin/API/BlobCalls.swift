import HTTP
import Manifests
import Platform
import Store

/// What a publisher asks about files before it sends them.
struct BlobCalls {
  let store: Store

  /// Digests in one question.
  private static let limit = 100_000

  /// `POST /blobs/missing`: those of the digests that have to be sent, in the order asked.
  func missing(_ document: JSONValue) throws(Problem) -> Response {
    guard let texts = document["sha256"]?.array, texts.count <= Self.limit else {
      throw .badRequest("\"sha256\" is an array of at most \(Self.limit) digests")
    }
    var digests: [SHA256] = []
    digests.reserveCapacity(texts.count)
    for text in texts {
      guard let digest = text.string.flatMap({ SHA256(hex: $0) }) else {
        throw .badRequest("\"sha256\" holds something that is no digest of 64 lower-case hexadecimal digits")
      }
      digests.append(digest)
    }
    let missing = try APIEndpoint.store { () throws(StoreError) in try store.missing(of: digests) }
    return APIEndpoint.document(["missing": .strings(missing.map(\.hex))])
  }
}
