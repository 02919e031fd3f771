import HTTPClient
import Manifests
import System

/// A mirror as a web server or CDN answers it.
package struct WebReader: MirrorReader {
  private let base: BaseURL
  private let web = Web()

  package var name: String { base.text }
  package var wrongType: Divergence.Severity? { .warning }
  package var threads: Int { 6 }

  package init(_ base: BaseURL) { self.base = base }

  private func url(_ path: String) -> String { "\(base)/\(MirrorPath.escaped(path))" }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    // What a cache between here and there kept is not what is looked for, of documents.
    try web.get(url(path), fields: [HTTPField("Cache-Control", "no-cache")])?.body
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    let sum = Locked(Sum())
    let reply = try web.send { () throws(MirrorError) in
      sum.withLock { $0 = Sum() }
      return (
        HTTPRequest("GET", url(path), redirects: 5),
        .stream(limit: .max) { bytes in sum.withLock { $0.update(bytes.bytes) } }
      )
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw .refused(url: url(path), status: reply.status, words: "") }
    return FileFacts(file: sum.withLock { $0.file }, type: reply.field("content-type"))
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    try web.download(url(path), to: target, limit: size) ? LocalFile(path: target, isTemporary: true) : nil
  }
}

/// The sha256 and size of bytes that arrive.
struct Sum: ~Copyable {
  private var hasher = SHA256Hasher()
  private var size: Int64 = 0

  mutating func update(_ bytes: RawSpan) {
    hasher.update(bytes)
    size += Int64(bytes.byteCount)
  }

  var file: MirrorIndex.File { MirrorIndex.File(sha256: hasher.finish(), size: size) }
}
