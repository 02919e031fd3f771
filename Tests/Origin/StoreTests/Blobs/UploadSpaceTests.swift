import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Uploads leave 32 MB of the disk free for the database, whatever sizes they announce.
@Suite struct UploadSpaceTests {
  private static let size: Int64 = 1 << 30
  private static let left: Int64 = 32_000_000

  /// A disk with free space of `available` less the bytes that uploads wrote to the folder.
  private static func open(_ scratch: Scratch, available: Int64) throws -> Store {
    var options = Store.Options()
    let data = scratch.data
    options.disk = Disk(
      space: { (_) throws(SystemError) in
        DiskSpace(size: size, available: available - written(data + "/tmp") - written(data + "/tmp/whole"))
      }, before: { _, _ in })
    return try scratch.open(options)
  }

  private static func written(_ folder: String) -> Int64 {
    ((try? Folder.textNames(folder)) ?? []).reduce(0) { sum, name in
      guard let status = (try? Kernel.status("\(folder)/\(name)")) ?? nil, status.kind == .file else {
        return sum
      }
      return sum + status.size
    }
  }

  private static func isDiskFull(_ error: any Error) -> Bool {
    if case StoreError.diskFull = error { true } else { false }
  }

  /// A chunked or coded body has no length.
  @Test func bodyOfUnknownSizeLeavesTheReserve() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: 40_000_000)
    let piece = [UInt8](repeating: 7, count: 65_536)
    var incoming = try store.receive(BlobClaim(sha256: .of([]), md5: .of([])))
    var sent = 0
    #expect(throws: StoreError.self) {
      for _ in 0..<400 {
        try incoming.append(piece.span.bytes)
        sent += piece.count
      }
    }
    #expect(sent > 6_000_000 && Int64(sent) <= 40_000_000 - Self.left, "\(sent)")
  }

  /// Each of them alone would fit.
  @Test func concurrentBodiesLeaveTheReserve() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: 50_000_000)
    let piece = [UInt8](repeating: 7, count: 65_536)
    let (peak, refused) = (Locked<Int64>(0), Locked(0))
    Parallel.forEach(8, threads: 8) { _ in
      do {
        var incoming = try store.receive(BlobClaim(sha256: .of([]), md5: .of([]), size: 12_000_000))
        for _ in 0..<183 {
          try incoming.append(piece.span.bytes)
          let there = Self.written(scratch.data + "/tmp")
          peak.withLock { $0 = max($0, there) }
        }
        // Space is freed only after all others have found the disk full.
        while refused.withLock({ $0 }) < 6 { Clock.sleep(for: .milliseconds(1)) }
      } catch {
        #expect(Self.isDiskFull(error), "\(error)")
        refused.withLock { $0 += 1 }
      }
    }
    #expect(peak.withLock { $0 } <= 50_000_000 - Self.left, "\(peak.withLock { $0 })")
  }

  /// The disk doesn't know of bytes that others are about to write.
  @Test func bytesThatAreNotWrittenYetCountAsUsed() {
    var space = UploadSpace()
    let (first, second) = (space.take(900) { 1000 }, space.take(900) { 1000 })
    #expect(first && !second)
    space.wrote(900)
    let (third, fourth) = (space.take(101) { 100 }, space.take(100) { 100 })
    #expect(!third && fourth)
  }

  /// The smallest file takes a block.
  @Test func smallFilesCountAsWholeBlocks() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: Self.left + 1_000_000)
    let files = (0..<300).map { index in
      let bytes = Array("\(index)".utf8)
      return SmallFile(
        claim: BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count)), bytes: bytes[...])
    }
    #expect { try store.receive(files) } throws: { Self.isDiskFull($0) }
    #expect(throws: Never.self) { try store.receive(Array(files.prefix(200))) }
  }

  /// The database may grow by much before the bytes that were allowed arrive.
  @Test func allowanceIsRenewedTheMoreOftenTheLessIsLeft() {
    var space = UploadSpace()
    let first = space.take(1000) { 1_000_000 }
    space.wrote(1000)
    let second = space.take(200_000) { 199_999 }
    #expect(first && !second)
    // While much is left, the disk isn't asked for each write.
    var (other, asked) = (UploadSpace(), 0)
    for _ in 0..<1000 {
      let hasRoom = other.take(4096) {
        asked += 1
        return 1 << 30
      }
      #expect(hasRoom)
      other.wrote(4096)
    }
    #expect(asked == 1)
  }

  /// Coded bodies, which downloads cause, are optional.
  @Test func codedBodiesLeaveTheReserve() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: Self.left + Int64(FileSpace.blockSize) + 1000)
    let path = store.derived.file(.of([1]), "gzip")
    #expect { try store.derived.keepFile([UInt8](repeating: 0, count: 1001), at: path) } throws: {
      Self.isDiskFull($0)
    }
    #expect(throws: Never.self) { try store.derived.keepFile([UInt8](repeating: 0, count: 1000), at: path) }
  }

  /// A pack's files lie in a file without a name while the pack is made.
  @Test func packsInTheMakingLeaveTheReserve() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: Self.left + 1_000_000)
    let frames = ScratchFile(in: store.derived)
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    #expect(throws: Never.self) { try frames.append(piece) }
    #expect(throws: Never.self) { try frames.append(Array(piece.prefix(900_000))) }
    #expect { try frames.append(piece) } throws: { Self.isDiskFull($0) }
  }

  @Test func packsLeaveTheReserve() throws {
    let scratch = Scratch()
    let store = try Self.open(scratch, available: Self.left + 1_000_000)
    let digest = SHA256.of([])
    let ends = PackEnds(
      base: ManifestVersion(1), baseDigest: digest, version: ManifestVersion(2), digest: digest)
    func keep(_ count: Int) throws {
      let parts = PackParts(
        head: [UInt8](repeating: 7, count: count), records: [], frames: ScratchFile(in: store.derived))
      _ = try store.derived.keep(parts, ends, of: 1)
    }
    #expect { try keep(1_000_000) } throws: { Self.isDiskFull($0) }
    #expect(try Folder.textNames(store.folder.packs(of: 1)).isEmpty)
    #expect(throws: Never.self) { try keep(900_000) }
  }

  @Test func zipsLeaveTheReserve() throws {
    let scratch = Scratch()
    let free = Locked<Int64>(50_000_000)
    var options = Store.Options()
    options.disk = Disk(
      space: { (_) throws(SystemError) in
        DiskSpace(size: Self.size, available: free.withLock { $0 })
      }, before: { _, _ in })
    let store = try scratch.open(options)
    try store.publish(base: 0, set: ["a": Sample(large: Secrets.random(5_000_000))])
    let channel = try store.channel(AppName("shop"), .online)
    free.withLock { $0 = Self.left + 1000 }
    #expect { try store.makeZip(.whole(channel.version), of: channel, threads: 1) } throws: {
      Self.isDiskFull($0)
    }
    #expect(try store.folder.zipNames().isEmpty)
    free.withLock { $0 = Self.left + 10_000_000 }
    #expect(throws: Never.self) { try store.makeZip(.whole(channel.version), of: channel, threads: 1) }
  }
}
