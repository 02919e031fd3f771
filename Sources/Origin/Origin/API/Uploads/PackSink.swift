import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Receives a sequence of small files, each as `<sha256> <md5> <size>\n<bytes>`: `POST /blobs`.
///
/// Each is stored once its last byte has arrived; the first bad one ends the pack, and those before it are kept.
final class PackSink: UploadSink {
  static let contentType = "application/vnd.xcache.pack"

  /// Larger files are sent on their own.
  private static let sizeLimit = 1 << 20
  /// A SHA-256, an MD5, a size, two spaces and the line feed.
  private static let headLimit = 64 + 32 + 7 + 3

  private let store: Store
  /// What has arrived but isn't stored yet: less than one file and its head.
  private var pending: [UInt8] = []
  private var head: BlobClaim?
  private var stored = 0

  init(_ store: Store) { self.store = store }

  convenience init(_ context: RequestContext) throws {
    guard context.request.contentType == Self.contentType else {
      throw Problem(
        .unsupportedMediaType, "media-type", "files sent together must have the type \(Self.contentType)")
    }
    self.init(context.store)
  }

  func append(_ bytes: RawSpan) throws {
    bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
    let used = try storeWhole()
    pending.removeFirst(used)
  }

  func finish() throws -> Response {
    guard pending.isEmpty, head == nil else {
      throw Problem.badRequest("the pack ends inside its file number \(stored + 1)")
    }
    return .json(PackUploadAnswer(stored: stored))
  }

  /// Stores the files that have arrived completely, and returns the number of bytes that they and their heads took.
  private func storeWhole() throws -> Int {
    var files: [SmallFile] = []
    var used = 0
    var problem: Problem?
    while problem == nil {
      if let claim = head {
        let size = Int(claim.size ?? 0)
        guard pending.count - used >= size else { break }
        files.append(SmallFile(claim: claim, bytes: pending[used..<used + size]))
        used += size
        head = nil
        continue
      }
      let line = pending[used...].prefix(Self.headLimit)
      guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else {
        if line.count == Self.headLimit { problem = badHead(stored + files.count) }
        break
      }
      head = Self.claim(line[..<end])
      if head == nil { problem = badHead(stored + files.count) }
      used = end + 1
    }
    try store.receive(files)
    stored += files.count
    if let problem { throw problem }
    return used
  }

  private static func claim(_ line: ArraySlice<UInt8>) -> BlobClaim? {
    line.withUnsafeBufferPointer { line in
      let space = UInt8(ascii: " ")
      guard line.count > 98, line[64] == space, line[97] == space,
        let sha256 = SHA256(digits: UnsafeBufferPointer(rebasing: line[..<64])),
        let md5 = MD5(digits: UnsafeBufferPointer(rebasing: line[65..<97]))
      else { return nil }
      let text = String(decoding: line[98...], as: UTF8.self)
      guard let size = Int64(text), String(size) == text, (0...Int64(sizeLimit)).contains(size) else {
        return nil
      }
      return BlobClaim(sha256: sha256, md5: md5, size: size)
    }
  }

  /// - Parameter before: how many files precede the bad one.
  private func badHead(_ before: Int) -> Problem {
    .badRequest(
      "file number \(before + 1) of the pack doesn't begin with \"<sha256> <md5> <size, at most 1 MiB>\"")
  }
}
