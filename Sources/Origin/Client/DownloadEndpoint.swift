import HTTP
import Manifests
import Platform
import Store

/// Answers download URLs (DESIGN §3): the bytes never change, so an opened file is answered again and again.
struct DownloadEndpoint: Sendable {
  let store: Store
  let coded: CodedFiles
  let log: @Sendable (String) -> Void

  /// - Parameter path: without a public URL's prefix and without the slash before its first segment.
  func answer(_ path: RawSpan, _ request: borrowing Request, _ cache: DownloadCache) -> Answer {
    if let file = cache.file(at: path) { return .now(file.document.response(to: request)) }
    guard let parsed = DownloadPath(parsing: path) else { return .now(Self.nothing) }
    let stored = StoredRequest(request)
    let bytes = path.withUnsafeBytes { [UInt8]($0) }
    return .later { [inbox = cache.inbox] in
      do throws(StoreError) {
        let file = DownloadFile(path: bytes, document: try open(parsed))
        inbox.put(file)
        return file.document.response(to: stored.request)
      } catch {
        if case .unknownVersion = error { return Self.nothing }
        log("error: \(parsed): \(error)")
        return ClientFailure.response(error)
      }
    }
  }

  private static var nothing: Response { ClientFailure.notFound("no resource has this download URL") }

  private func open(_ path: DownloadPath) throws(StoreError) -> CodedDocument {
    guard let resource = try store.resource(at: path) else { throw .unknownVersion(path.manifestVersion) }
    let blob = try store.open(resource.content.sha256)
    let size = blob.size
    let file = OpenFile(blob.takeFile(), size: size)
    let md5 = resource.content.md5.hex
    guard resource.content.ctype.isCompressible else {
      return .file(identity: Self.representation(resource, file, tag: md5, coding: nil), gzip: nil, zstd: nil)
    }
    func coding(_ coding: BodyCoding) -> Representation? {
      coded.file(resource.content.sha256, size: size, coding).map { coded in
        let tag = "\(md5)-\(coding.name)-\(coded.sha256.hex.prefix(16))"
        return Self.representation(resource, coded.file, tag: tag, coding: coding)
      }
    }
    return .file(
      identity: Self.representation(resource, file, tag: md5, coding: nil), gzip: coding(.gzip),
      zstd: coding(.zstd))
  }

  private static func representation(
    _ resource: StoredResource, _ file: OpenFile, tag: String, coding: BodyCoding?
  ) -> Representation {
    var fields = HeadFields([
      ("Content-Type", resource.content.ctype.text), ("Cache-Control", "public, max-age=31536000, immutable"),
      ("Access-Control-Allow-Origin", "*"),
    ])
    if resource.content.ctype.isCompressible { fields.add("Vary", "Accept-Encoding, Available-Dictionary") }
    if let coding { fields.add("Content-Encoding", "\(coding.name)") }
    return Representation(fields, tag: EntityTag(tag), body: file.body)
  }
}
