import HTTPClient
import Manifests
import System

/// A mirror as its readers see it.
package protocol MirrorReader: Sendable {
  /// Where it is, for people.
  var name: String { get }
  /// What a wrong content type is; nil: files have none here.
  var wrongType: Divergence.Severity? { get }
  /// How many files are read at a time.
  var threads: Int { get }

  /// All bytes of a document; nil where there is none.
  func read(_ path: String) throws(MirrorError) -> [UInt8]?
  /// Reads a file through; nil where there is none.
  func facts(_ path: String) throws(MirrorError) -> FileFacts?
  /// A file of this machine with a file's bytes, made at `target` where there is none; nil where nothing is there.
  func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile?
}

/// What a file turned out to be.
package struct FileFacts: Sendable {
  package let file: MirrorIndex.File
  /// As the host says it; nil where none does.
  package let type: String?
}

extension MirrorReader {
  /// - Throws: `noMirror`, `noIndex`.
  package func index() throws(MirrorError) -> (MirrorIndex, [UInt8]) {
    guard let bytes = try read(MirrorIndex.path) else { throw .noMirror(place: name) }
    do throws(MirrorError) {
      return (try MirrorIndex(parsing: bytes), bytes)
    } catch .unreadable(_, let reason) {
      // Some hosts answer a page of theirs to whatever they don't have.
      let isPage = bytes.first { $0 > 0x20 } == UInt8(ascii: "<")
      throw .noIndex(place: name, reason: isPage ? "is a web page" : "can't be read: \(reason)")
    }
  }
}

/// A mirror in a folder of this machine.
package struct FolderReader: MirrorReader {
  package let name: String
  package var wrongType: Divergence.Severity? { nil }
  package var threads: Int { 2 }

  package init(_ folder: String) { name = folder }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    try MirrorError.disk { () throws(SystemError) in
      do throws(SystemError) {
        return try DurableFile.read("\(name)/\(path)")
      } catch {
        // read(2) knows no names.
        throw SystemError(error.call, on: error.subject ?? "\(name)/\(path)", code: error.code)
      }
    }
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    try CopyCheck.digest("\(name)/\(path)").map { FileFacts(file: $0, type: nil) }
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    let kind = try MirrorError.disk { () throws(SystemError) -> FileStatus.Kind? in
      do throws(SystemError) {
        return try Kernel.status("\(name)/\(path)")?.kind
      } catch  where error.isOfFile {
        return nil
      }
    }
    return kind == .file ? LocalFile(path: "\(name)/\(path)", isTemporary: false) : nil
  }
}

/// A mirror as a web server or CDN answers it.
package struct WebReader: MirrorReader {
  private let base: BaseURL
  private let web: Web

  package var name: String { base.text }
  package var wrongType: Divergence.Severity? { .warning }
  package var threads: Int { 6 }

  /// - Parameter http: asks the host.
  package init(_ base: BaseURL, http: HTTPClient = HTTPClient()) {
    self.base = base
    web = Web(http: http)
  }

  private func url(_ path: String) -> String { "\(base)/\(PercentEncoding.encodePercents(path))" }

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
    guard reply.isSuccess else { throw .refused(url: url(path), status: reply.status, message: "") }
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
