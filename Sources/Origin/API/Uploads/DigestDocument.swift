import HTTP
import Manifests
import OriginAPI
import Store
import System

/// The body of `POST /blobs/missing`, what a publisher asks about files before it sends them: `{"sha256":[…]}`.
struct DigestDocument: StreamedContent {
  static let division = JSONDivision.members(["sha256": .elements()])

  private var digests: [SHA256]?
  private var isInList = false

  /// Digests in one question.
  private static let limit = 100_000

  mutating func take(_ part: JSONStream.Part) throws {
    switch part {
    case .begin("sha256"):
      guard digests == nil else { throw Self.noList }
      digests = []
      isInList = true
    case .value("sha256", _): throw Self.noList
    case .value(_, let value) where isInList:
      guard let digest = value.string.flatMap({ SHA256(hex: $0) }) else {
        throw Problem.badRequest(
          "\"sha256\" holds something that is no digest of 64 lower-case hexadecimal digits")
      }
      guard (digests?.count ?? 0) < Self.limit else { throw Self.noList }
      digests?.append(digest)
    case .end: isInList = false
    case .begin, .value: break
    }
  }

  /// Those of the digests that have to be sent, in the order asked.
  func finish(_ context: RequestContext) throws -> Response {
    guard let digests else { throw Self.noList }
    let missing = try context.store.missing(of: digests)
    return .json(MissingBlobsAnswer(missing: missing))
  }

  private static var noList: Problem {
    .badRequest("\"sha256\" is an array of at most \(limit) digests")
  }
}
