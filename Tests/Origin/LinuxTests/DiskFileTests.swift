import Linux
import System
import Testing

@Suite struct DiskFileTests {
  @Test(arguments: [0, 1, 4096, 100_000]) func readsAllBytesFromTheDisk(size: Int) throws {
    let path = "\(Environment.variables["TMPDIR"] ?? "/tmp")/xcache-disk-\(Environment.processID)-\(size)"
    defer { try? Kernel.remove(path) }
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
    try DurableFile.write(bytes, to: path)
    #expect(try Self.bytes(path) == bytes)
  }

  private static func bytes(_ path: String) throws -> [UInt8]? {
    guard var file = try DiskFile(path) else { return nil }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: DiskFile.alignment)
    defer { buffer.deallocate() }
    var bytes: [UInt8] = []
    while true {
      let count = try file.read(at: Int64(bytes.count), into: buffer)
      bytes += buffer[..<count]
      if count < buffer.count { return bytes }
    }
  }

  @Test func missingFileIsNil() throws {
    let isThere = try DiskFile("/nowhere/at/all") != nil
    #expect(!isThere)
  }
}
