import HTTPClient
import Manifests
import OriginAPI
import System

/// Sends files to the origin over several kept connections; a file of any size takes the memory of a buffer.
struct Uploader {
  static let connections = 4

  let api: OriginClient
  /// Called with the bytes sent so far, from any thread.
  let progress: @Sendable (Int64) -> Void

  /// Which of the digests the origin lacks.
  func missing(_ digests: [SHA256]) throws(PublishError) -> Set<SHA256> {
    var missing: Set<SHA256> = []
    var rest = digests[...]
    while !rest.isEmpty {
      // "at most 100,000 an ask"
      let part = rest.prefix(50_000)
      rest = rest.dropFirst(part.count)
      let answer = try PublishError.asking { () throws(OriginError) in
        try api.send(
          "POST", "blobs/missing", json: ["sha256": .strings(part.map(\.hex))],
          isRepeatable: true)
      }
      guard let list = answer["missing"]?.array else {
        throw .origin(.notAnOrigin(server: api.server.text, found: "an answer without \"missing\""))
      }
      missing.formUnion(list.compactMap { $0.string.flatMap { SHA256(hex: $0) } })
    }
    return missing
  }

  /// Sends `files`, each content once; after a failure no new request begins.
  func send(_ files: [HashedFile]) throws(PublishError) {
    let plan = UploadPlan(files, connections: Uploader.connections)
    let job = UploadJob(plan.units, api, progress)
    Parallel.run(threads: min(Uploader.connections, plan.units.count)) { job.run() }
    if let failure = job.failure { throw failure }
  }
}
