import Compression
import Manifests
import System

/// A file that is being made of a record of a pack: decoded, hashed and written as its bytes arrive.
final class PackRecordWriter {
  /// Where the bytes are until they are all there and right.
  let part: String
  private let check: [UInt8]
  private let file: Descriptor
  /// Bytes that the disk has for it.
  private let room: Int64
  private var decoder: PackFrameDecoder
  private var hasher = FileHasher()
  /// Bytes of the file so far.
  private(set) var written: Int64 = 0

  /// - Parameters:
  ///   - base: what its frame is over; nil: nothing.
  ///   - limit: bytes that the file may have.
  ///   - room: bytes that the disk has for it.
  init(
    _ record: PackRecordHead, over base: [UInt8]?, limit: Int64, room: Int64, into part: String
  ) throws(ClientError) {
    self.room = room
    self.part = part
    check = record.check
    file = try onDisk(part) { () throws(SystemError) in
      try Kernel.open(part, [.write, .create, .exclusive, .noFollow])
    }
    decoder = PackFrameDecoder(base: base, limit: limit)
  }

  /// Takes the next bytes of the frame.
  func push(_ bytes: RawSpan) throws {
    try decoder.push(bytes) { piece in
      hasher.update(piece)
      guard Int64(piece.byteCount) <= room - written else {
        throw ClientError(SystemError("write", on: part, code: .noSpace), path: part)
      }
      do throws(SystemError) {
        try Kernel.write(piece, to: file, path: part)
      } catch {
        throw ClientError(error, path: part)
      }
      written += Int64(piece.byteCount)
    }
  }

  /// What is known of the file, whose record has come to its end.
  /// - Throws: `damaged` where these aren't the bytes that the record is about.
  func finish() throws -> FileDigest {
    try decoder.finish()
    let digest = hasher.finish()
    guard PackHead.check(digest.sha256) == check else { throw PackFault.damaged("a file has other bytes") }
    return digest
  }
}
