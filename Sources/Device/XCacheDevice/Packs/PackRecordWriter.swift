import Compression
import Manifests
import System

/// Makes a file from a record of a pack: decodes, hashes and writes it as its bytes arrive.
final class PackRecordWriter {
  /// The path of the file until it is complete and verified.
  let part: String
  private let check: [UInt8]
  private let file: Descriptor
  /// The bytes that the disk has room for.
  private let room: Int64
  private var decoder: PackFrameDecoder
  private var hasher = FileHasher()
  /// The bytes written so far.
  private(set) var written: Int64 = 0

  /// - Parameters:
  ///   - record: the head of the record.
  ///   - base: the bytes that its frame refers to; nil for none.
  ///   - limit: the maximum bytes of the file.
  ///   - room: the bytes that the disk has room for.
  ///   - part: the path of the file to create.
  init(
    _ record: PackRecordHead, over base: [UInt8]?, limit: Int64, room: Int64, into part: String
  ) throws(DeviceError) {
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
        throw DeviceError(SystemError("write", on: part, code: .noSpace), path: part)
      }
      do throws(SystemError) {
        try Kernel.write(piece, to: file, path: part)
      } catch {
        throw DeviceError(error, path: part)
      }
      written += Int64(piece.byteCount)
    }
  }

  /// Ends the record, and returns the digest of the file.
  /// - Throws: `damaged`, if the file doesn't have the digest that the record names.
  func finish() throws -> FileDigest {
    try decoder.finish()
    let digest = hasher.finish()
    guard PackHead.check(digest.sha256) == check else { throw PackFault.damaged("a file has other bytes") }
    return digest
  }
}
