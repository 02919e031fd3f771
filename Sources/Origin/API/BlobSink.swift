import HTTP
import Manifests
import Store

/// One file on its way into the store.
final class BlobSink {
  // Owned here between the calls; `finish` takes it out.
  private var incoming: IncomingBlob?

  init(_ claim: BlobClaim, _ store: Store) throws(Problem) {
    incoming = try APIEndpoint.store { () throws(StoreError) in try store.receive(claim) }
  }

  func append(_ bytes: RawSpan) throws(Problem) {
    do {
      try incoming?.append(bytes)
    } catch {
      incoming = nil
      throw Problem(error)
    }
  }

  func finish() throws(Problem) -> Response {
    guard let blob = incoming.take() else { throw .badRequest("the upload has ended already") }
    do {
      let result = try blob.finish()
      return APIEndpoint.document(["stored": .bool(result == .stored)], result == .stored ? .created : .ok)
    } catch {
      throw Problem(error)
    }
  }
}
