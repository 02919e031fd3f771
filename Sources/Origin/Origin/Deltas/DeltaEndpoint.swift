import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Answers delta URLs, and downloads by clients that offer a dictionary (RFC 9842).
struct DeltaEndpoint: Sendable {
  let store: Store
  let counters: DeltaCounters
  let log: @Sendable (String) -> Void
  let failures: FailureLog

  /// Answers `{space}/delta/{target}/{base}.dcz`.
  ///
  /// `path` has neither a public URL's prefix nor its leading slash; `whole` is the whole request path, under which the
  /// file is kept open.
  func answer(_ path: RawSpan, whole: RawSpan, _ request: borrowing Request, _ cache: DownloadCache) -> Answer
  {
    if let file = cache.file(at: whole) { return .now(file.document.response(to: request)) }
    guard let parsed = DeltaPath(parsing: path) else { return .now(Self.nothing) }
    let stored = StoredRequest(request)
    let key = whole.array
    return .later { [inbox = cache.inbox] in
      do throws(StoreError) {
        let file = try inbox.open { () throws(StoreError) in
          guard let delta = try store.derived.open(parsed.target, on: parsed.base) else {
            throw .unknownBlob(parsed.target)
          }
          return DownloadFile(path: key, document: document(delta))
        }
        return file.document.response(to: stored.request)
      } catch {
        if case .unknownBlob = error { return Self.nothing }
        failures.note(Problem(error), "\(parsed): \(error)")
        return ClientFailure.response(error)
      }
    }
  }

  private static var nothing: Response { ClientFailure.notFound("no delta is stored under this URL") }

  private func document(_ delta: consuming DerivedFile) -> CodedDocument {
    let sha256 = delta.sha256
    let file = OpenFile(delta, store, log)
    let fields = HeadFields.published("application/octet-stream")
    // A delta that is made again may have other bytes, so the tag is computed from these.
    let tag = EntityTag("\(sha256.hex.prefix(32))")
    return .file(identity: Representation(fields, tag: tag, body: file.body), gzip: nil, zstd: nil)
  }

  /// Returns the resource `sha256` as a delta from the client's dictionary, or nil if there is none. `fields` are those of
  /// its answers, without Content-Encoding.
  func coded(_ sha256: SHA256, md5: String, on base: SHA256, _ fields: HeadFields) -> Representation? {
    guard let delta = try? store.derived.open(sha256, on: base) else { return nil }
    let coded = delta.sha256
    let file = OpenFile(delta, store, log)
    let tag = EntityTag("\(md5)-dcz-\(coded.hex.prefix(16))")
    counters.sentCoded()
    return Representation(fields.adding("Content-Encoding", "dcz"), tag: tag, body: file.body)
  }
}

/// The dictionary that a client offers (RFC 9842 §2.2).
enum AvailableDictionary {
  /// Returns the SHA-256 in `:<base64>:` if the client accepts `dcz` and prefers none of `others` to it (RFC 9110 §12.5.3);
  /// otherwise nil.
  static func of(_ request: borrowing Request, over others: [BodyCoding]) -> SHA256? {
    guard let field = request.field(.availableDictionary) else { return nil }
    let accepted = AcceptEncoding(request)
    guard accepted.accepts(.dcz), others.allSatisfy({ accepted.weight($0) <= accepted.weight(.dcz) }) else {
      return nil
    }
    let text = field.trimmed
    guard text.byteCount == 46, text[0] == UInt8(ascii: ":"), text[45] == UInt8(ascii: ":") else {
      return nil
    }
    guard let bytes = Base64.decode(text.extracting(1..<45).text) else { return nil }
    return SHA256(bytes: bytes.span.bytes)
  }
}

/// A resource as relevant to deltas: its bytes, and the URL that determines its name.
struct DeltaFile: Sendable {
  let sha256: SHA256
  let size: Int
  let ctype: ContentType
  let name: StableName

  init(_ url: ResourceURL, _ content: ResourceContent) {
    sha256 = content.sha256
    size = Int(clamping: content.size)
    ctype = content.ctype
    name = StableName(path: url.withoutQuery)
  }

  /// Returns each distinct content that can have a delta or be the base of one.
  static func distinct(_ contents: some Sequence<ContentTable.Element>) -> [DeltaFile] {
    var seen: Set<SHA256> = []
    return contents.compactMap { url, content in
      let isEligible = content.size > 0 && content.size <= Int64(DeltaTrial.largestFile)
      return isEligible && seen.insert(content.sha256).inserted ? DeltaFile(url, content) : nil
    }
  }

  var cut: Sketch.Cut { Self.isText(ctype) ? .tokens : .chunks }

  private static func isText(_ type: ContentType) -> Bool {
    let essence = type.essence
    return essence.hasPrefix("text/") || essence.hasSuffix("json") || essence.hasSuffix("xml")
      || essence.hasSuffix("javascript")
  }
}

extension Sketch.Cut {
  /// Its identifier in `derived.db`.
  var number: Int {
    switch self {
    case .tokens: 1
    case .chunks: 2
    }
  }
}
