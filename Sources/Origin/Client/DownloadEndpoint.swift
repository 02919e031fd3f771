import HTTP
import Manifests
import OriginAPI
import Store

/// Answers download URLs (docs/protocol.md §5): the bytes never change, so an open file serves many requests.
struct DownloadEndpoint: Sendable {
  let store: Store
  let coded: CodedFiles
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
        return coded(file, stored.request) ?? file.document.response(to: stored.request)
      } catch {
        if case .unknownVersion = error { return Self.nothing }
        failures.note(Problem(error), "\(parsed): \(error)")
        return ClientFailure.response(error)
      }
    }
  }

  private func answer(_ file: DownloadFile, _ request: borrowing Request) -> Answer {
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
    let blob = try store.open(sha256)
    let size = blob.size
    let file = OpenFile(blob, sha256, store, log)
    let md5 = resource.content.md5.hex
    let match = DictionaryMatch(store: store).field(prefix: prefix, path, resource.url)
    let fields = Self.fields(resource, match)
    let identity = Representation(fields, tag: EntityTag(md5), body: file.body)
    guard resource.content.ctype.isCompressible else {
      return DownloadFile(path: key, document: .file(identity: identity, gzip: nil, zstd: nil))
    }
    func representation(_ coding: BodyCoding) throws(StoreError) -> Representation? {
      try coded.file(sha256, size: size, coding).map { coded in
        Representation(
          fields.adding("Content-Encoding", "\(coding.name)"),
          tag: EntityTag("\(md5)-\(coding.name)-\(coded.sha256.hex.prefix(16))"), body: coded.file.body)
      }
    }
    return DownloadFile(
      path: key,
      document: .file(
        identity: identity, gzip: try representation(.gzip), zstd: try representation(.zstd)),
      target: DeltaTarget(sha256: sha256, md5: md5, fields: fields))
  }

  private static func fields(_ resource: StoredResource, _ match: String?) -> HeadFields {
    var fields = HeadFields.published(resource.content.ctype.text)
    guard resource.content.ctype.isCompressible else { return fields }
    fields.add("Vary", "Accept-Encoding, Available-Dictionary")
    if let match { fields.add("Use-As-Dictionary", match) }
    return fields
  }
}
