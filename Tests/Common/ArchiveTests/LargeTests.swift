import Foundation
import System
import Testing
import TestSupport

@testable import Archive

/// Entries of more than 4 GB. They take minutes, so they only run with XCACHE_LARGE_TESTS=1 (`make test-large`).
@Suite(.enabled(if: Environment.variables["XCACHE_LARGE_TESTS"] == "1"), .serialized)
struct LargeTests {
  /// A sparse file of 5 GB that begins with a few bytes.
  private static func sparse(_ folder: Scratch) throws -> (path: String, size: Int64) {
    let path = folder.path + "/sparse"
    let size: Int64 = 5 << 30
    let file = try Kernel.open(path, [.readWrite, .create])
    try Kernel.write(Array("begin".utf8).span.bytes, to: file)
    try Kernel.truncate(file, to: size)
    return (path, size)
  }

  @Test(arguments: [Archive.Method.deflate, .stored]) func entriesOfFiveGigabytes(_ method: Archive.Method)
    throws
  {
    let folder = try Scratch()
    let (path, size) = try Self.sparse(folder)
    let zip = folder.path + "/large.zip"
    let sink = ArchiveFileSink(try Kernel.open(zip, [.write, .create, .exclusive]), path: zip)
    try Archive.write(
      [
        ArchiveInput("first", bytes: Sample.text(100)),
        ArchiveInput("large", method, size: size) { try ArchiveFile(path) },
        ArchiveInput("last", bytes: Sample.text(200)),
      ], threads: 2, to: sink)
    _ = try sink.finish()
    let archive = try Archive(
      ArchiveFile(zip), limits: ArchiveLimits(entries: 9, bytes: 6 << 30, maxRatio: 2000))
    let large = try #require(archive["large"])
    #expect(large.size == size)
    var count: Int64 = 0
    try archive.read(large) { count += Int64($0.byteCount) }
    #expect(count == size)
    let last = try #require(archive["last"])
    #expect(try archive.bytes(of: last, limit: 200) == Sample.text(200))
    // The default limits refuse its ratio.
    if method == .deflate {
      #expect { try Archive(ArchiveFile(zip)) } throws: { ($0 as? ArchiveError)?.kind == "ratioTooHigh" }
    }
    for reader in WritingTests.readers where Tool.exists(reader[0]) && !reader.contains("-xOf") {
      #expect(try Tool.run(reader + [zip]) == 0, "\(reader[0])")
    }
  }
}
