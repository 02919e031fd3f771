import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Receives one file into the store: `PUT /blobs/{sha256}`.
final class BlobSink: UploadSink {
  // Owned between calls; `finish` consumes it.
  private var incoming: IncomingBlob?

  init(_ context: RequestContext) throws {
    let request = context.request
    guard let sha256 = SHA256(hex: request.path[1]) else {
      throw Problem.badRequest(
        "the path doesn't end in a sha256 of 64 lower-case hexadecimal digits: \(request.path[1])")
    }
    let claim = BlobClaim(sha256: sha256, md5: try request.md5(), size: request.size)
    incoming = try context.store.receive(claim)
  }

  func append(_ bytes: RawSpan) throws {
    do {
      try incoming?.append(bytes)
    } catch {
      incoming = nil
      throw error
    }
  }

  func finish() throws -> Response {
    guard let blob = incoming.take() else { throw Problem.badRequest("the upload has already ended") }
    let isNew = try blob.finish() == .stored
    return .json(BlobAnswer(stored: isNew), isNew ? .created : .ok)
  }
}
