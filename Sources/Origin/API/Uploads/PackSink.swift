import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Small files one after another: `<sha256> <md5> <size>\n<bytes>`, again and again. `POST /blobs`.
///
/// Each is stored when its last byte is here; the first bad one ends the pack, and those before it are kept.
final class PackSink: UploadSink {
  static let contentType = "application/vnd.xcache.pack"

  /// Larger files are sent alone.
  private static let sizeLimit = 1 << 20
  /// A sha256, an md5, a size, two spaces and the line feed.
  private static let headLimit = 64 + 32 + 7 + 3

  private let store: Store
  /// What arrived and isn't stored yet: less than one file and its head.
  private var pending: [UInt8] = []
  private var head: BlobClaim?
  private var stored = 0

  init(_ store: Store) { self.store = store }

  convenience init(_ context: RequestContext) throws {
    guard context.request.contentType == Self.contentType else {
      throw Problem(.unsupportedMediaType, "media-type", "files are sent together as \(Self.contentType)")
    }
    self.init(context.store)
  }

  func append(_ bytes: RawSpan) throws {
    bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
    var used = 0
    while let count = try take(pending[used...]) { used += count }
    pending.removeFirst(used)
  }

  func finish() throws -> Response {
    guard pending.isEmpty, head == nil else {
      throw Problem.badRequest("the pack ends inside its file number \(stored + 1)")
    }
    return .json(PackAnswer(stored: stored))
  }

  /// Takes a head or a file off the front; nil where more bytes are needed.
  private func take(_ bytes: ArraySlice<UInt8>) throws -> Int? {
    guard let claim = head else {
      guard let end = bytes.prefix(Self.headLimit).firstIndex(of: UInt8(ascii: "\n")) else {
        if bytes.count >= Self.headLimit { throw badHead() }
        return nil
      }
      head = try parse(bytes[..<end])
      return end - bytes.startIndex + 1
    }
    let size = Int(claim.size ?? 0)
    guard bytes.count >= size else { return nil }
    let file = bytes.prefix(size)
    _ = try store.receive(file.span.bytes, claim)
    head = nil
    stored += 1
    return size
  }

  private func parse(_ line: ArraySlice<UInt8>) throws -> BlobClaim {
    let parts = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let sha256 = SHA256(hex: parts[0]), let md5 = MD5(hex: parts[1]),
      let size = Int64(parts[2]), String(size) == parts[2], (0...Int64(Self.sizeLimit)).contains(size)
    else { throw badHead() }
    return BlobClaim(sha256: sha256, md5: md5, size: size)
  }

  private func badHead() -> Problem {
    .badRequest(
      "file number \(stored + 1) of the pack doesn't begin with \"<sha256> <md5> <size, at most 1 MiB>\"")
  }
}
