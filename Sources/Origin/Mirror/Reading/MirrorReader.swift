import HTTPClient
import System
import Values

/// Reads a mirror.
package protocol MirrorReader: Sendable {
  /// The mirror's place, for people.
  var name: String { get }
  /// The severity of a wrong content type; nil if files have no type here.
  var wrongType: Divergence.Severity? { get }
  /// How many files to read at a time.
  var threads: Int { get }

  /// Returns the contents of a document, or nil if it doesn't exist.
  func read(_ path: String) throws(MirrorError) -> [UInt8]?
  /// Reads a file completely; returns nil if it doesn't exist.
  func facts(_ path: String) throws(MirrorError) -> FileFacts?
  /// Returns a local file with a file's bytes, created at `target` if there is none, or nil if the file doesn't exist.
  func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile?
}

/// What a file really is.
package struct FileFacts: Sendable {
  package let file: MirrorIndex.File
  /// The host's content type; nil if there is none.
  package let type: String?
}

extension MirrorReader {
  /// Reads `mirror.json`.
  /// - Throws: `noMirror`, `noIndex`.
  package func index() throws(MirrorError) -> (MirrorIndex, [UInt8]) {
    guard let bytes = try read(MirrorIndex.path) else { throw .noMirror(place: name) }
    do throws(MirrorError) {
      return (try MirrorIndex(parsing: bytes), bytes)
    } catch .unreadable(_, let reason) {
      // Some hosts answer missing files with a page.
      let isPage = bytes.first { $0 > 0x20 } == UInt8(ascii: "<")
      throw .noIndex(place: name, reason: isPage ? "is a web page" : "can't be read: \(reason)")
    }
  }
}

/// A mirror in a local folder.
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
        // read(2) has no path to report.
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

/// A mirror served by a web server or CDN.
package struct WebReader: MirrorReader {
  private let base: BaseURL
  private let web: Web

  package var name: String { base.text }
  package var wrongType: Divergence.Severity? { .warning }
  package var threads: Int { 6 }

  /// Creates a reader that makes its requests with `http`.
  package init(_ base: BaseURL, http: HTTPClient = HTTPClient()) {
    self.base = base
    web = Web(http: http)
  }

  private func url(_ path: String) -> String { "\(base)/\(PercentEncoding.encodePercents(path))" }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    // Documents must not come from a cache on the way.
    try web.get(url(path), fields: [("Cache-Control", "no-cache")])?.body
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
    return FileFacts(file: sum.withLock { $0.file }, type: reply.fields["content-type"])
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    try web.download(url(path), to: target, limit: size) ? LocalFile(path: target, isTemporary: true) : nil
  }
}

/// Computes the sha256 and size of arriving bytes.
struct Sum: ~Copyable {
  private var hasher = SHA256Hasher()
  private var size: Int64 = 0

  mutating func update(_ bytes: RawSpan) {
    hasher.update(bytes)
    size += Int64(bytes.byteCount)
  }

  var file: MirrorIndex.File { MirrorIndex.File(sha256: hasher.finish(), size: size) }
}
