import HTTPClient
import System

/// A mirror in a bucket, as who holds its keys reads it.
package struct S3Reader: MirrorReader {
  private let client: S3Client

  package var name: String { client.settings.name }
  /// The objects' types are the mirror's own doing.
  package var wrongType: Divergence.Severity? { .error }
  package var threads: Int { 8 }

  package init(_ settings: S3Settings) { client = S3Client(settings) }

  init(_ client: S3Client) { self.client = client }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    let reply = try client.send("GET", client.settings.key(path))
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return reply.body
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    let sum = Locked(Sum())
    let reply = try client.send("GET", client.settings.key(path)) { () throws(MirrorError) in
      sum.withLock { $0 = Sum() }
      return .stream(limit: .max) { bytes in sum.withLock { $0.update(bytes.bytes) } }
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return FileFacts(file: sum.withLock { $0.file }, type: reply.field("content-type"))
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    let reply = try client.send("GET", client.settings.key(path)) { () throws(MirrorError) in
      let file = try WrittenFile(target)
      return .stream(limit: size) { try file.write($0) }
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return LocalFile(path: target, isTemporary: true)
  }
}
