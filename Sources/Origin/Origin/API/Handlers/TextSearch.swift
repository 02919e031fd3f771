import Store
import System

/// Searches a file for texts, piece by piece.
struct TextSearch {
  private let texts: [[UInt8]]
  private static let pieceCount = 1 << 18

  /// - Parameter texts: non-empty texts.
  init(_ texts: [[UInt8]]) { self.texts = texts }

  func isFound(in blob: borrowing StoredBlob) throws(StoreError) -> Bool {
    let overlap = (texts.map(\.count).max() ?? 1) - 1
    var buffer = [UInt8](repeating: 0, count: Self.pieceCount + overlap)
    var kept = 0
    var offset: Int64 = 0
    while offset < blob.size {
      let read = try Self.read(blob, at: offset, into: &buffer, from: kept)
      if read == 0 { return false }
      offset += Int64(read)
      let count = kept + read
      for text in texts where Self.contains(text, in: buffer[..<count]) { return true }
      // A match may span two pieces.
      kept = min(overlap, count)
      buffer.replaceSubrange(0..<kept, with: Array(buffer[count - kept..<count]))
    }
    return false
  }

  private static func read(
    _ blob: borrowing StoredBlob, at offset: Int64, into buffer: inout [UInt8], from start: Int
  ) throws(StoreError) -> Int {
    let result = buffer.withUnsafeMutableBytes { (bytes) -> Result<Int, SystemError> in
      let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + pieceCount])
      do throws(SystemError) {
        return .success(try Kernel.read(blob.file, at: offset, into: piece))
      } catch {
        return .failure(error)
      }
    }
    do throws(SystemError) {
      return try result.get()
    } catch {
      throw .system(error)
    }
  }

  static func contains(_ text: [UInt8], in bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = text.first else { return false }
    return bytes.withUnsafeBytes { bytes in
      var start = 0
      while let found = bytes[start...].firstIndex(of: first), found + text.count <= bytes.count {
        if bytes[found..<found + text.count].elementsEqual(text) { return true }
        start = found + 1
      }
      return false
    }
  }
}
