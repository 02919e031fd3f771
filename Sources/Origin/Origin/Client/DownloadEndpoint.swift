import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Answers download URLs (docs/protocol.md §5): the bytes never change, so an open file serves many requests.
struct DownloadEndpoint: Sendable {
  let store: Store
  let coded: CodedFiles
  let checker: BlobChecker
  let deltas: DeltaEndpoint
  let log: @Sendable (String) -> Void
  let failures: FailureLog

  /// Answers the request for a file. `path` has neither a public URL's prefix nor its leading slash; `whole` is the
  /// request's path.
  func answer(_ path: RawSpan, whole: RawSpan, _ request: borrowing Request, _ cache: DownloadCache) -> Answer
  {
    if let file = cache.file(at: whole) { return answer(file, request) }
    guard let parsed = DownloadPath(parsing: path) else { return .now(Self.nothing) }
    let stored = StoredRequest(request)
    let key = whole.array
    let prefix = whole.extracting(first: whole.byteCount - path.byteCount).text
    return .later { [inbox = cache.inbox] in
      do throws(StoreError) {
        let file = try inbox.open { () throws(StoreError) in try open(parsed, key, prefix: prefix) }
        if let sha256 = file.awaitsCodings { awaitCodings(of: sha256, parsed, key, prefix: prefix, inbox) }
        return coded(file, stored.request) ?? file.document.response(to: stored.request)
      } catch {
        if case .unknownVersion = error { return Self.nothing }
        failures.note(Problem(error), "\(parsed): \(error)")
        return ClientFailure.response(error)
      }
    }
  }

  /// Opens a file once more when its codings were made.
  private func awaitCodings(
    of sha256: SHA256, _ path: DownloadPath, _ key: [UInt8], prefix: String, _ inbox: DownloadCache.Inbox
  ) {
    guard inbox.awaitCodings(key) else { return }
    coded.request(sha256) {
      inbox.codingsMade(key)
      do throws(StoreError) {
        _ = try inbox.open { () throws(StoreError) in try open(path, key, prefix: prefix) }
      } catch {
        log("error: \(path): \(error)")
      }
    }
  }

  private func answer(_ file: DownloadFile, _ request: borrowing Request) -> Answer {
    // An answer from a worker waits until its first bytes were checked.
    if file.isBeingChecked {
      let stored = StoredRequest(request)
      return .later { coded(file, stored.request) ?? file.document.response(to: stored.request) }
    }
    guard file.target != nil, AvailableDictionary.of(request, over: file.document.codings) != nil else {
      return .now(file.document.response(to: request))
    }
    let stored = StoredRequest(request)
    return .later { coded(file, stored.request) ?? file.document.response(to: stored.request) }
  }

  /// Returns the answer as a delta from the client's dictionary; nil if that isn't possible.
  private func coded(_ file: DownloadFile, _ request: borrowing Request) -> Response? {
    guard let target = file.target,
      let base = AvailableDictionary.of(request, over: file.document.codings)
    else { return nil }
    return deltas.coded(target.sha256, md5: target.md5, on: base, target.fields)?.response(to: request)
  }

  private static var nothing: Response { ClientFailure.notFound("no resource has this download URL") }

  private func open(_ path: DownloadPath, _ key: [UInt8], prefix: String) throws(StoreError) -> DownloadFile {
    guard let resource = try store.resource(at: path) else { throw .unknownVersion(path.manifestVersion) }
    let sha256 = resource.content.sha256
    let file = try openFile(sha256)
    let md5 = resource.content.md5.hex
    let match = DictionaryMatch(store: store).field(prefix: prefix, path, resource.url)
    let fields = Self.fields(resource, match)
    guard resource.content.ctype.isCompressible else {
      let identity = Representation(fields, tag: EntityTag(md5), body: file.body)
      return DownloadFile(path: key, document: .file(identity: identity, gzip: nil, zstd: nil), file)
    }
    let bodies = try coded.bodies(of: sha256, size: file.size)
    func representation(_ body: CodedFiles.Coded?, _ coding: BodyCoding) -> Representation? {
      body.map { body in
        Representation(
          fields.adding("Content-Encoding", "\(coding.name)"),
          tag: EntityTag("\(md5)-\(coding.name)-\(body.sha256.hex.prefix(16))"), body: body.file.body)
      }
    }
    // A CDN that got the plain body only because the coded one wasn't there yet asks again soon (RFC 9213).
    let plain = bodies.isIncomplete ? fields.adding("CDN-Cache-Control", "max-age=60") : fields
    return DownloadFile(
      path: key,
      document: .file(
        identity: Representation(plain, tag: EntityTag(md5), body: file.body),
        gzip: representation(bodies.gzip, .gzip), zstd: representation(bodies.zstd, .zstd)),
      file, target: DeltaTarget(sha256: sha256, md5: md5, fields: fields),
      awaitsCodings: bodies.isIncomplete ? sha256 : nil)
  }

  /// Opens a blob; a large one's check begins if it wasn't checked since the start.
  func openFile(_ sha256: SHA256) throws(StoreError) -> OpenFile {
    switch try store.openForSending(sha256) {
    case .checked(let blob): return file(blob, sha256)
    case .checking(let check, let isNew):
      if isNew { checker.add(check) }
      return OpenFile(check, checker, store, log)
    }
  }

  /// Keeps the file of a blob that was checked open while it is sent.
  func file(_ blob: consuming StoredBlob, _ sha256: SHA256) -> OpenFile { OpenFile(blob, sha256, store, log) }

  private static func fields(_ resource: StoredResource, _ match: String?) -> HeadFields {
    var fields = HeadFields.published(resource.content.ctype.text)
    guard resource.content.ctype.isCompressible else { return fields }
    fields.add("Vary", "Accept-Encoding, Available-Dictionary")
    if let match { fields.add("Use-As-Dictionary", match) }
    return fields
  }
}
