import Testing
import TestSupport

@testable import Archive

/// Valid archives, damaged at every place: they are refused, or read as what was packed.
@Suite struct DamageTests {
  struct Valid: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let contents: [String: [UInt8]]
    /// Offsets of bytes that the reader ignores: dates, versions, modes, comments.
    let ignored: Set<Int>
  }

  static let archives: [Valid] = {
    var archives: [Valid] = []
    let files = [
      "a.txt": Sample.text(300), "b/noise.bin": Sample.noise(120), "c.js": Sample.text(50), "empty": [],
    ]
    let inputs = files.sorted { $0.key < $1.key }.map {
      ArchiveInput($0.key, $0.key == "c.js" ? .stored : .deflate, bytes: $0.value)
    }
    guard let written = try? written(inputs) else { fatalError("a small archive is written") }
    archives.append(archive("written here", written, files))
    let described = RawZip.Entry("d.txt", Sample.text(200), deflate: true).with {
      $0.flags = [.utf8, .hasDescriptor]
      $0.local = (0, 0, 0)
      DataDescriptor(crc: $0.crc, compressedSize: UInt64($0.compressedSize), size: 200).append(
        to: &$0.descriptor, isLong: false)
    }
    archives.append(archive("with a descriptor", RawZip([described]).bytes, ["d.txt": Sample.text(200)]))
    let long = RawZip.Entry("l.txt", "long").with {
      ZIP64Extra.append([4, 4], to: &$0.extra)
      ($0.size, $0.compressedSize) = (.max, .max)
      $0.localExtra = $0.extra
    }
    var zip = RawZip([long])
    let start = UInt64(long.bytes.count)
    let size = UInt64(zip.bytes.count) - start - UInt64(DirectoryEnd.size)
    ZIP64DirectoryEnd(count: 1, directorySize: size, directoryOffset: start).append(to: &zip.beforeEnd)
    ZIP64Locator(offset: start + size).append(to: &zip.beforeEnd)
    zip.changeEnd = {
      ($0.count, $0.countOnDisk, $0.directorySize, $0.directoryOffset) = (.max, .max, .max, .max)
    }
    archives.append(archive("ZIP64", zip.bytes, ["l.txt": Array("long".utf8)]))
    return archives
  }()

  private static func archive(_ name: String, _ bytes: [UInt8], _ contents: [String: [UInt8]]) -> Valid {
    var ignored: Set<Int> = []
    // The padding bits in the last byte of a deflate stream, and those in the header of a stored block, which is its
    // first byte.
    for entry in (try? Archive(ArchiveBytes(bytes)))?.entries ?? [] where entry.method == .deflate {
      ignored.insert(Int(entry.dataOffset + entry.compressedSize) - 1)
      if entry.compressedSize > entry.size { ignored.insert(Int(entry.dataOffset)) }
    }
    for at in bytes.indices.dropLast(4) {
      switch bytes[at..<at + 4].withUnsafeBytes({ $0.loadUnaligned(as: UInt32.self) }) {
      // Version needed, flags that aren't used, time and date.
      case LocalFileHeader.signature: ignored.formUnion([4, 5, 6, 7, 10, 11, 12, 13].map { at + $0 })
      case DirectoryHeader.signature:
        ignored.formUnion([4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 36, 37, 38, 39, 40, 41].map { at + $0 })
      // Versions made by and needed.
      case ZIP64DirectoryEnd.signature: ignored.formUnion((12..<16).map { at + $0 })
      default: break
      }
    }
    return Valid(testDescription: name, bytes: bytes, contents: contents, ignored: ignored)
  }

  @Test(arguments: archives) func validArchivesAreRead(_ valid: Valid) throws {
    #expect(try contents(valid.bytes) == valid.contents)
  }

  @Test(arguments: archives) func everyTruncationIsRefused(_ valid: Valid) {
    for count in 0..<valid.bytes.count {
      #expect(refusal(Array(valid.bytes.prefix(count))) != nil, "cut to \(count) bytes")
    }
    for count in 1..<valid.bytes.count {
      #expect(refusal(Array(valid.bytes.dropFirst(count))) != nil, "without the first \(count) bytes")
    }
  }

  @Test(arguments: archives) func everyFlippedByteIsRefusedOrIgnored(_ valid: Valid) throws {
    for at in valid.bytes.indices {
      for mask in [0xFF, 1, 8, 128] as [UInt8] {
        var bytes = valid.bytes
        bytes[at] ^= mask
        guard let read = try? contents(bytes) else { continue }
        #expect(read == valid.contents, "byte \(at) ^ \(mask)")
        #expect(valid.ignored.contains(at), "byte \(at) ^ \(mask) is not noticed")
      }
    }
  }

  /// Bytes removed, repeated, swapped or overwritten, several at a time.
  @Test(arguments: archives) func randomDamageNeverGivesOtherBytes(_ valid: Valid) {
    var generator = SplitMix(seed: 7)
    for _ in 0..<2000 {
      var bytes = valid.bytes
      for _ in 0...Int.random(in: 0...3, using: &generator) {
        let low = Int.random(in: 0..<bytes.count, using: &generator)
        let high = min(bytes.count, low + Int.random(in: 1...24, using: &generator))
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes.removeSubrange(low..<min(high, bytes.count - 1))
        case 1: bytes.insert(contentsOf: bytes[low..<high], at: low)
        case 2: bytes.replaceSubrange(low..<high, with: Sample.noise(high - low, seed: generator.next()))
        default: bytes.swapAt(low, high - 1)
        }
        if bytes.isEmpty { bytes = [0] }
      }
      guard let read = try? contents(bytes) else { continue }
      for (name, content) in read { #expect(valid.contents[name] == content, "\(name)") }
    }
  }
}
