import HTTP
import OriginAPI
import Store
import System
import Values

/// The body of `POST /blobs/missing`, with which a publisher asks about files before it sends them: `{"sha256":[…]}`. With
/// `"check":true` the origin reads its files first, and sets damaged ones aside.
struct DigestDocument: StreamedContent {
  static var division: JSONDivision { .members(["sha256": .elements()]) }

  private var digests: [SHA256]?
  private var listsPresent = false
  private var checks = false
  private var isInList = false

  /// The maximum number of digests in one request.
  private static let limit = 100_000

  mutating func process(_ part: JSONStream.Part) throws {
    switch part {
    case .begin("sha256"):
      guard digests == nil else { throw Self.noList }
      digests = []
      isInList = true
    case .value("sha256", _): throw Self.noList
    case .value("answer", let value) where !isInList:
      listsPresent = value.string == MissingBlobsRequest.present
    case .value("check", let value) where !isInList: checks = value.bool ?? false
    case .value(_, let value) where isInList:
      guard let digest = value.string.flatMap({ SHA256(hex: $0) }) else {
        throw Problem.badRequest(
          "\"sha256\" contains something that is not a digest of 64 lower-case hexadecimal digits")
      }
      guard (digests?.count ?? 0) < Self.limit else { throw Self.noList }
      digests?.append(digest)
    case .end: isInList = false
    case .begin, .value: break
    }
  }

  /// Answers with the digests that have to be sent, or with those that don't, in the order asked.
  func finish(_ context: RequestContext) throws -> Response {
    guard let digests else { throw Self.noList }
    if checks {
      guard digests.count <= MissingBlobsRequest.checkLimit else {
        throw Problem.badRequest(
          "with \"check\", \"sha256\" has at most \(MissingBlobsRequest.checkLimit) digests")
      }
      for sha256 in digests {
        // Otherwise a file that can't be read would pass for a good one.
        if case .failed(let reason) = try context.store.scrub(blob: sha256) { throw StoreError(reason) }
      }
    }
    let missing = try context.store.missing(of: digests)
    guard listsPresent else { return .json(MissingBlobsAnswer(missing: missing)) }
    let absent = Set(missing)
    return .json(MissingBlobsAnswer(present: digests.filter { !absent.contains($0) }))
  }

  private static var noList: Problem {
    .badRequest("\"sha256\" is an array of at most \(limit) digests")
  }
}
