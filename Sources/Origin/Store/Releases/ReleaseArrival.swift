import Manifests
import System
import Values

/// A content that a release brings into one of its bundles.
package struct ReleaseArrival: Sendable {
  package let url: ResourceURL
  package let content: ResourceContent
  /// Whether a release had these bytes before, under any URL.
  package let isKnown: Bool
}

extension Store {
  /// Opens the file of bytes that were checked when they arrived, whether or not a release names them yet; nil if there is none.
  package func openArrived(_ sha256: SHA256) throws(StoreError) -> StoredBlob? {
    let isWaiting = try blobs.waiting(sha256) != nil
    for path in isWaiting ? [folder.whole(sha256), folder.blob(sha256)] : [folder.blob(sha256)] {
      let found = try StoreError.disk { () throws(SystemError) in try Kernel.openFile(path) }
      switch consume found {
      case .file(let file, let status): return StoredBlob(file: file, size: status.size)
      default: continue
      }
    }
    return nil
  }

  /// Returns what a release brings into its bundles: what they already hold under the same URL isn't among it.
  /// - Throws: the refusals of a plan.
  package func arrivals(of request: ReleaseInput) throws(StoreError) -> [ReleaseArrival] {
    let (plan, edition) = try plan(request)
    lastPlan.keep(plan, of: request, at: edition)
    return try connections.reading { (db) throws(StoreError) in
      try plan.contents.map { (url, content) throws(StoreError) in
        let row = try db.value(
          Int64.self,
          "SELECT 1 FROM blob AS b JOIN resource AS r ON r.blob_id = b.id WHERE b.sha256 = ? LIMIT 1",
          content.sha256)
        return ReleaseArrival(url: url, content: content, isKnown: row != nil)
      }
    }
  }
}
