import Glibc
import System
import Testing

/// Copies between two file systems, which `copy_file_range` can't do.
@Suite struct CopyTests {
  private static let memory = "/dev/shm"

  /// Whether the temporary folder and /dev/shm are on different file systems.
  private static var areDifferent: Bool {
    guard access(memory, W_OK) == 0, let other = try? Kernel.status(memory) else { return false }
    return (try? withTemporaryFolder { try Kernel.status($0)?.device != other.device }) ?? false
  }

  @Test(.enabled(if: areDifferent), arguments: [0, 1, 3_000_000]) func copiesToAnotherFileSystem(
    size: Int
  )
    throws
  {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
    try withTemporaryFolder { folder in
      let there = "\(Self.memory)/xcache-copy-\(getpid())-\(size)"
      let (start, back) = ("\(folder)/a", "\(folder)/b")
      defer { try? Kernel.remove(there) }
      try DurableFile.write(bytes, to: start)
      for (from, to) in [(start, there), (there, back)] {
        let target = try Kernel.open(to, [.readWrite, .create, .truncate])
        try Kernel.copy(from: Kernel.open(from, .read), to: target)
        #expect(try DurableFile.read(to) == bytes)
      }
    }
  }
}
