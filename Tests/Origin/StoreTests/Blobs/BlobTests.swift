import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct BlobTests {
  let scratch = Scratch()
  private var folder: DataFolder { DataFolder(path: scratch.data) }

  private func read(_ store: Store, _ sha256: SHA256) throws -> [UInt8] {
    let blob = try store.open(sha256)
    var bytes = [UInt8](repeating: 0, count: Int(blob.size))
    let file = blob.takeFile()
    let count = try bytes.withUnsafeMutableBytes { buffer in
      try Kernel.read(file, at: 0, into: UnsafeMutableRawBufferPointer(rebasing: buffer[...]))
    }
    #expect(count == bytes.count)
    return bytes
  }

  @Test func publishedBytesAreStoredOnceAndReadBack() throws {
    let store = try scratch.open()
    let sample = Sample("some bytes")
    #expect(try store.missing(of: [sample.claim.sha256]) == [sample.claim.sha256])
    #expect(try store.receive(sample.bytes.span.bytes, sample.claim) == .stored)
    #expect(try store.receive(sample.bytes.span.bytes, sample.claim) == .alreadyThere)
    #expect(try store.missing(of: [sample.claim.sha256]) == [])
    try store.publish(base: 0, set: ["a": sample, "b": sample], sends: false)
    #expect(try read(store, sample.claim.sha256) == sample.bytes)
    #expect(try store.receive(sample.bytes.span.bytes, sample.claim) == .alreadyThere)
    #expect(try Folder.textNames(folder.whole).isEmpty)
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
    #expect(throws: StoreError.self) { _ = try store.open(.of([1])) }
  }

  @Test(arguments: [
    BlobClaim(sha256: .of([9]), md5: .of([1, 2, 3]), size: 3),
    BlobClaim(sha256: .of([1, 2, 3]), md5: .of([9]), size: 3),
    BlobClaim(sha256: .of([1, 2, 3]), md5: .of([1, 2, 3]), size: 2),
    BlobClaim(sha256: .of([1, 2, 3]), md5: .of([1, 2, 3]), size: 4),
  ])
  func bytesWithAnotherDigestAreRefusedAndDeleted(claim: BlobClaim) throws {
    let store = try scratch.open()
    let bytes: [UInt8] = [1, 2, 3]
    #expect { try store.receive(bytes.span.bytes, claim) } throws: {
      if case StoreError.digestMismatch(claim, _) = $0 { "\($0)".contains(claim.sha256.hex) } else { false }
    }
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
    #expect(try Folder.textNames(folder.whole).isEmpty)
  }

  @Test func partialUploadIsDeleted() throws {
    let store = try scratch.open()
    do {
      var incoming = try store.receive(Sample("whole").claim)
      try incoming.append(Array("wh".utf8).span.bytes)
      #expect(try Folder.textNames(folder.temporary).count == 2)
    }
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
  }

  @Test func restartKeepsCompleteFilesAndDeletesPartialOnes() throws {
    let (good, bad, old) = (Sample("good"), Sample("bad"), Sample("old"))
    do {
      let store = try scratch.open()
      try store.send([good, bad, old])
    }
    try DurableFile.write([1, 2], to: "\(folder.temporary)/incoming-1-1")
    try DurableFile.write([1, 2], to: folder.whole(bad.claim.sha256))
    var past = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
    utimensat(AT_FDCWD, folder.whole(old.claim.sha256), &past, 0)
    let store = try scratch.open()
    let digests = [bad, good, old].map(\.claim.sha256)
    #expect(try store.missing(of: digests) == [bad.claim.sha256, old.claim.sha256])
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
    #expect(try Folder.textNames(folder.whole) == [good.claim.sha256.hex])
    #expect(throws: Never.self) { try store.publish(base: 0, set: ["a": good], sends: false) }
  }

  @Test func completeFilesAreKeptForADay() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.send([Sample("a")])
    now.withLock { $0 += 23 * 3_600_000 }
    try store.sweepUploads()
    #expect(try store.missing(of: [.of([97])]).isEmpty)
    now.withLock { $0 += 2 * 3_600_000 }
    try store.sweepUploads()
    #expect(try store.missing(of: [.of([97])]) == [.of([97])])
    #expect(try Folder.textNames(folder.whole).isEmpty)
  }

  /// A file that a publisher was told exists is kept as long as its reservation; unknown files are removed.
  @Test func sweepRemovesUnreservedFiles() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.send([Sample("wanted"), Sample("not wanted")])
    let stray = folder.whole + "/" + SHA256.of([1, 2, 3]).hex
    for path in [stray, folder.whole + "/notes", folder.temporary + "/incoming-9"] {
      try DurableFile.write([1, 2, 3], to: path)
    }
    now.withLock { $0 += 25 * 3_600_000 }
    try DurableFile.write([1], to: folder.temporary + "/incoming-10")
    try Kernel.setModified(folder.temporary + "/incoming-10", to: now.withLock { $0 })
    let change = try store.change("main", base: 0, set: ["a.js": Sample("wanted")])
    _ = try store.preview(try store.request([change]))
    let swept = try store.sweepUploads()
    #expect(swept.files == 4 && swept.bytes == 9 + 10)
    #expect(try Folder.textNames(folder.whole) == [Sample("wanted").claim.sha256.hex])
    #expect(try Folder.textNames(folder.temporary) == ["incoming-10", "whole"])
    #expect(try store.publish(base: 0, set: ["a.js": Sample("wanted")], sends: false).changed)
  }

  @Test(arguments: ["other bytes", nil] as [String?])
  func damagedBlobIsSetAsideAndCanBeSentAgain(damage: String?) throws {
    let sample = Sample("good bytes")
    let sha256 = sample.claim.sha256
    do {
      let store = try scratch.open()
      try store.publish(base: 0, set: ["a": sample])
      #expect(try read(store, sha256) == sample.bytes)
    }
    if let damage {
      try DurableFile.write(Array(damage.utf8), to: folder.blob(sha256))
    } else {
      try Kernel.remove(folder.blob(sha256))
    }
    let store = try scratch.open()
    #expect { _ = try store.open(sha256) } throws: {
      if case StoreError.corruptBlob(sha256) = $0 { true } else { false }
    }
    #expect(try Kernel.status(folder.blob(sha256)) == nil)
    #expect(try Folder.textNames(folder.quarantine).count == (damage == nil ? 0 : 1))
    #expect(try store.missing(of: [sha256]) == [sha256])
    #expect {
      try store.publish("other", base: 0, set: ["b": sample], sends: false)
    } throws: { if case StoreError.missingBlobs([sha256]) = $0 { true } else { false } }
    #expect(try store.receive(sample.bytes.span.bytes, sample.claim) == .stored)
    #expect(try read(store, sha256) == sample.bytes)
    #expect(try store.missing(of: [sha256]).isEmpty)
    #expect(throws: Never.self) { try store.publish("other", base: 0, set: ["b": sample], sends: false) }
  }

  @Test func scrubReadsFilesAgain() throws {
    let sample = Sample("good bytes")
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": sample])
    _ = try store.open(sample.claim.sha256)
    // Of the same size: another size is noticed when the file is opened.
    try DurableFile.write(Array("BAD! bytes".utf8), to: folder.blob(sample.claim.sha256))
    #expect(throws: Never.self) { _ = try store.open(sample.claim.sha256) }
    #expect(try store.scrub { _ in true } == [sample.claim.sha256])
    #expect(throws: StoreError.self) { _ = try store.open(sample.claim.sha256) }
  }

  @Test func manyFilesAreSyncedTogether() throws {
    let steps = Locked<[String]>([])
    var options = Store.Options()
    options.disk = Disk { step, _ in steps.withLock { $0.append(step.description) } }
    let store = try scratch.open(options)
    var set: [String: Sample] = [:]
    for number in 0..<100 { set["f\(number)"] = Sample("bytes \(number)") }
    try store.publish(base: 0, set: set)
    let done = steps.withLock { $0 }
    #expect(done.filter { $0 == "syncfs" }.count == 2 && !done.contains("fsync"))
    #expect(done.lastIndex(of: "syncfs") == done.count - 1)
  }

  @Test func releaseNamesOnlyDurableBytes() throws {
    let steps = Locked<[String]>([])
    var options = Store.Options()
    options.disk = Disk { step, path in
      steps.withLock { $0.append("\(step) \(path.split(separator: "/").suffix(2).joined(separator: "/"))") }
    }
    let store = try scratch.open(options)
    try store.send([Sample("a")])
    steps.withLock { $0 = [] }
    let hex = Sample("a").claim.sha256.hex
    _ = try store.commit(
      try store.request([try store.change("main", base: 0, set: ["a": Sample("a")])]),
      digest: { _ in
        steps.withLock { $0.append("transaction") }
        return .of([])
      })
    #expect(
      steps.withLock { $0 } == [
        "fsync whole/\(hex)", "rename \(hex.prefix(2))/\(hex.dropFirst(2))", "fsync blobs/\(hex.prefix(2))",
        "transaction",
      ])
  }
}
