import Glibc
import System
import Testing
import TestSupport

@testable import Publishing

@Suite struct HashTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  @Test func digestsAreInTheOrderOfTheFiles() throws {
    for index in 0..<40 { try folder.write("f\(index)", String(repeating: "x", count: index * 30_000)) }
    let files = try Scan.files(in: folder.path)
    let (hashed, read) = try FileHashing(threads: 4).digests(of: files)
    #expect(read == 40)
    #expect(hashed.map(\.source.path) == files.map(\.path))
    for file in hashed {
      let bytes = try #require(try DurableFile.read(file.source.location))
      #expect(
        file.digest == FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count)))
    }
  }

  @Test func cachedFilesAreNotRead() throws {
    for index in 0..<100 { try folder.write("f\(index)", "\(index)") }
    let files = try Scan.files(in: folder.path)
    let hashed = try FileHashing().digests(of: files).files
    let cache = HashCache(hashed.map { ($0.source.status, $0.digest) }, now: .max)
    let again = try FileHashing(cache: cache).digests(of: files)
    #expect(again.read == 0)
    #expect(again.files == hashed)
    let reread = try #require(HashCache(records: cache.bytes))
    #expect(try FileHashing(cache: reread).digests(of: files).read == 0)
  }

  @Test func recentlyChangedFilesAreNotCached() throws {
    try folder.write("f", "x")
    let file = try #require(try FileHashing().digests(of: Scan.files(in: folder.path)).files.first)
    let status = file.source.status
    let kept = { (now: Int64) in HashCache([(status, file.digest)], now: now).digest(of: status) }
    #expect(kept(status.changed) == nil)
    #expect(kept(status.changed + 1_999_999_999) == nil)
    #expect(kept(status.changed + 2_000_000_000) == file.digest)
  }

  @Test func anyChangeIsDetected() throws {
    let path = try folder.write("f", "one")
    let before = try #require(try Scan.files(in: folder.path).first)
    let digest = try #require(try FileHashing().digests(of: [before]).files.first).digest
    let cache = HashCache([(before.status, digest)], now: .max)
    #expect(cache.digest(of: before.status) == digest)
    Clock.sleep(for: .milliseconds(20))
    // Same size, and the former mtime restored.
    try folder.write("f", "two")
    var times = [
      timespec(
        tv_sec: Int(before.status.modified / 1_000_000_000),
        tv_nsec: Int(before.status.modified % 1_000_000_000)),
      timespec(
        tv_sec: Int(before.status.modified / 1_000_000_000),
        tv_nsec: Int(before.status.modified % 1_000_000_000)),
    ]
    utimensat(AT_FDCWD, path, &times, 0)
    let after = try #require(try Scan.files(in: folder.path).first)
    #expect(after.status.modified == before.status.modified)
    #expect(after.status.size == before.status.size)
    #expect(cache.digest(of: after.status) == nil)
  }

  @Test func damagedCacheIsEmpty() throws {
    let cache = PublishCache(path: folder.path + "/cache")
    try cache.write(.hashes, "key", [1, 2, 3])
    #expect(cache.read(.hashes, "key") == [1, 2, 3])
    #expect(cache.read(.hashes, "other") == nil)
    #expect(cache.read(.entries, "key") == nil)
    let name = try #require(try Folder.textNames(folder.path + "/cache/hashes").first)
    let whole = try #require(try DurableFile.read("\(folder.path)/cache/hashes/\(name)"))
    for index in whole.indices {
      var broken = whole
      broken[index] ^= 1
      try folder.write("cache/hashes/\(name)", broken)
      #expect(cache.read(.hashes, "key") == nil, "byte \(index)")
      try folder.write("cache/hashes/\(name)", whole[..<index])
      #expect(cache.read(.hashes, "key") == nil, "cut at \(index)")
    }
  }

  @Test(arguments: [
    (["XDG_CACHE_HOME": "/c", "HOME": "/h"], "/c/xcache"), (["HOME": "/h"], "/h/.cache/xcache"),
    (["XDG_CACHE_HOME": "relative", "HOME": "/h"], "/h/.cache/xcache"),
  ])
  func cacheFolder(_ environment: [String: String], _ path: String) {
    #expect("\(PublishCache(environment: environment))".contains("\"\(path)\""))
  }

  @Test func fileThatChangesWhileItIsReadIsNamed() throws {
    let path = try folder.write("f", [UInt8](repeating: 1, count: 1000))
    let source = try #require(try Scan.files(in: folder.path).first)
    let reader = try FileReader(source)
    Clock.sleep(for: .milliseconds(20))
    try folder.write("f", [UInt8](repeating: 2, count: 1000))
    #expect(
      words { try reader.check(reader.status) }
        == "\(path) changed while it was read: publish again when the build is done")
  }
}
