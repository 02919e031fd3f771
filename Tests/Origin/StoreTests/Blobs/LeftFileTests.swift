import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Files under `blobs/` without a release, and missing files of releases.
@Suite struct LeftFileTests {
  private let scratch = Scratch()
  private let samples = (0..<40).map { Sample("file \($0)") }
  private var digests: [SHA256] { samples.map(\.claim.sha256) }
  private var set: [String: Sample] {
    Dictionary(uniqueKeysWithValues: samples.enumerated().map { ("f\($0).js", $1) })
  }

  /// A clock set by the test, and options with it.
  private static func clock() -> (now: Locked<Int64>, options: Store.Options) {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    return (now, options)
  }

  private static let hour: Int64 = 3_600_000

  /// A disk that fills up during a file keeps no part of it: the next start may need that room.
  @Test func fullDiskKeepsNoPartialFile() throws {
    var options = Store.Options()
    let isFull = Locked(true)
    let third = samples[3].claim.sha256
    options.disk = Disk { (step, path) throws(SystemError) in
      guard isFull.withLock({ $0 }), "\(step)" == "write", path.hasSuffix(third.hex.dropFirst(2)) else {
        return
      }
      // As much as there was room for.
      let file = try Kernel.open(path, [.write])
      try Kernel.write([1, 2, 3].span.bytes, to: file, path: path)
      throw SystemError(step, on: path, code: .noSpace)
    }
    let store = try scratch.open(options)
    #expect(throws: StoreError.self) { try store.receive(samples.map(BatchTests.small)) }
    #expect(try Set(store.blobs.files()) == Set(digests.prefix(3)))
    isFull.withLock { $0 = false }
    try store.receive(samples.map(BatchTests.small))
    try store.publish(base: 0, set: set, sends: false)
    for sample in samples { #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes) }
  }

  /// Uploads to an earlier process are removed after a day, without gc; released ones are kept.
  @Test func uploadsBeforeARestartExpire() throws {
    do { try scratch.open().receive(samples.map(BatchTests.small)) }
    let (now, options) = Self.clock()
    let store = try scratch.open(options)
    try store.publish(base: 0, set: ["a": samples[0]], sends: false)
    now.withLock { $0 += 23 * Self.hour }
    #expect(try store.sweepUploads().files == 0)
    now.withLock { $0 += 3 * Self.hour }
    #expect(try store.sweepUploads().files == samples.count - 1)
    #expect(try store.blobs.files() == [digests[0]])
    #expect(try Kernel.status(store.folder.unreleased) == nil)
    #expect(try store.missing(of: digests) == Array(digests.dropFirst()))
    // Sent again, they are kept for another day.
    try store.receive(samples.map(BatchTests.small))
    #expect(try Kernel.status(store.folder.unreleased) != nil)
    #expect(try store.missing(of: digests).isEmpty)
  }

  /// A disk with the given free space, and a clock.
  private static func disk(_ available: Locked<Int64>) -> (now: Locked<Int64>, options: Store.Options) {
    var (now, options) = clock()
    options.disk = Disk(
      space: { _ in DiskSpace(size: 100 << 30, available: available.withLock { $0 }) }, before: { _, _ in })
    return (now, options)
  }

  private static let minute: Int64 = 60_000

  /// Uploads of a failed publish are removed once no upload is active while the disk is short of room, otherwise after a day.
  @Test(arguments: [true, false]) func fullDiskKeepsNoFailedPublish(_ isShort: Bool) throws {
    let available = Locked<Int64>(50 << 30)
    let (now, options) = Self.disk(available)
    let store = try scratch.open(options)
    try store.send(Array(samples.prefix(10)))
    try store.receive(samples.dropFirst(10).map(BatchTests.small))
    if isShort { available.withLock { $0 = 3 << 30 } }
    now.withLock { $0 += 14 * Self.minute }
    #expect(try store.sweepUploads().files == 0)
    now.withLock { $0 += 2 * Self.minute }
    #expect(try store.sweepUploads().files == (isShort ? samples.count : 0))
    #expect(try store.missing(of: digests).count == (isShort ? samples.count : 0))
  }

  /// Also if there is room for all but the one refused file; gc does the same.
  @Test func refusedUploadCountsAsAShortage() throws {
    let available = Locked<Int64>(50 << 30)
    let (now, options) = Self.disk(available)
    let store = try scratch.open(options)
    try store.receive(samples.map(BatchTests.small))
    let claim = BlobClaim(sha256: SHA256.of([1]), md5: MD5.of([1]), size: 60 << 30)
    #expect(throws: StoreError.self) { _ = try store.receive(claim) }
    now.withLock { $0 += 16 * Self.minute }
    #expect(try store.collect().temporary.count == samples.count)
  }

  /// An active publish keeps all of its files, however long it takes and however short the disk is; earlier uploads are removed.
  @Test func activePublishKeepsItsFiles() throws {
    let available = Locked<Int64>(3 << 30)
    let (now, options) = Self.disk(available)
    let store = try scratch.open(options)
    now.withLock { $0 += 20 * Self.minute }
    try store.receive(samples.prefix(5).map(BatchTests.small))
    for sample in samples.prefix(5) {
      try Kernel.setModified(store.folder.blob(sample.claim.sha256), to: now.withLock { $0 })
    }
    now.withLock { $0 += 120 * Self.minute }
    let own = samples.dropFirst(5)
    for sample in own {
      try store.receive([BatchTests.small(sample)])
      try Kernel.setModified(store.folder.blob(sample.claim.sha256), to: now.withLock { $0 })
      now.withLock { $0 += 10 * Self.minute }
      _ = try store.sweepUploads()
    }
    #expect(try Set(store.blobs.files()) == Set(own.map(\.claim.sha256)))
    try store.publish(base: 0, set: ["a": own[10]], sends: false)
  }

  /// Files that an active publish was told exist are kept, even if another one uploaded them, and however short the disk is.
  @Test func activePublishKeepsFilesOfOthers() throws {
    let available = Locked<Int64>(3 << 30)
    let (now, options) = Self.disk(available)
    let store = try scratch.open(options)
    now.withLock { $0 += 20 * Self.minute }
    let left = samples.prefix(5)
    try store.receive(left.map(BatchTests.small))
    for sample in left {
      try Kernel.setModified(store.folder.blob(sample.claim.sha256), to: now.withLock { $0 })
    }
    now.withLock { $0 += 30 * Self.minute }
    #expect(try store.missing(of: left.map(\.claim.sha256)).isEmpty)
    for sample in samples.dropFirst(5).prefix(12) {
      now.withLock { $0 += 10 * Self.minute }
      try store.receive([BatchTests.small(sample)])
      try Kernel.setModified(store.folder.blob(sample.claim.sha256), to: now.withLock { $0 })
      #expect(try store.sweepUploads().files == 0)
    }
    try store.publish(base: 0, set: ["a": samples[0]], sends: false)
  }

  /// A publish that was active before a restart may still be.
  @Test func publishContinuesAfterARestart() throws {
    do { try scratch.open().receive(samples.map(BatchTests.small)) }
    let available = Locked<Int64>(3 << 30)
    let (now, options) = Self.disk(available)
    let store = try scratch.open(options)
    for _ in 0..<10 {
      now.withLock { $0 += 10 * Self.minute }
      #expect(try store.missing(of: [digests[0]]).isEmpty)
      #expect(try store.sweepUploads().files == 0)
    }
    now.withLock { $0 += 16 * Self.minute }
    #expect(try store.sweepUploads().files == samples.count)
  }

  /// A publisher that continues after the restart keeps the files that it was told exist.
  @Test func reservedFilesSurviveARestart() throws {
    do { try scratch.open().receive(samples.map(BatchTests.small)) }
    let (now, options) = Self.clock()
    let store = try scratch.open(options)
    now.withLock { $0 += 26 * Self.hour }
    #expect(try store.missing(of: Array(digests.prefix(10))).isEmpty)
    #expect(try store.sweepUploads().files == samples.count - 10)
    #expect(try Kernel.status(store.folder.unreleased) != nil)
    let mine = Dictionary(uniqueKeysWithValues: samples.prefix(10).enumerated().map { ("f\($0).js", $1) })
    try store.publish(base: 0, set: mine, sends: false)
    #expect(try Set(store.blobs.files()) == Set(digests.prefix(10)))
    #expect(try store.sweepUploads().files == 0)
    #expect(try Kernel.status(store.folder.unreleased) == nil)
    for sample in samples.prefix(10) {
      #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
    }
  }

  /// What happened to a release's file.
  enum Loss: CaseIterable {
    case removed, cut, grown, folder
  }

  /// A release checks that the stored files it names exist, and requests missing ones again.
  @Test(arguments: Loss.allCases) func releaseNamesNoMissingFile(_ loss: Loss) throws {
    let store = try scratch.open()
    let sample = samples[0]
    let sha256 = sample.claim.sha256
    try store.publish(base: 0, set: ["a": sample])
    let blob = store.folder.blob(sha256)
    switch loss {
    case .removed: try Kernel.remove(blob)
    case .cut: try DurableFile.write(Array(sample.bytes.dropLast()), to: blob)
    case .grown: try DurableFile.write(sample.bytes + [0], to: blob)
    case .folder:
      try Kernel.remove(blob)
      try Kernel.makeFolder(blob)
      try DurableFile.write([1], to: blob + "/notes")
    }
    #expect {
      try store.publish("other", base: 0, set: ["b": sample], sends: false)
    } throws: {
      if case .missingBlobs([sha256]) = $0 as? StoreError { true } else { false }
    }
    #expect(store.changes.found.blobs == 1)
    #expect(try store.missing(of: [sha256]) == [sha256])
    try store.publish("other", base: 0, set: ["b": sample])
    #expect(try store.bytes(of: sha256, limit: 100) == sample.bytes)
    if loss == .folder {
      let aside = try Folder.textNames(store.folder.quarantine).map {
        "\(store.folder.quarantine)/\($0)/notes"
      }
      #expect(try aside.contains { try Kernel.status($0) != nil })
    }
  }

  /// The check for missing blobs finds it as well.
  @Test(arguments: [true, false]) func lostFilesAreReportedMissing(_ isSmall: Bool) throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: set)
    for sample in samples[..<3] { try Kernel.remove(store.folder.blob(sample.claim.sha256)) }
    #expect(try store.missing(of: digests) == Array(digests[..<3]))
    if isSmall { try store.receive(samples.map(BatchTests.small)) } else { try store.send(samples) }
    #expect(try store.missing(of: digests).isEmpty)
    for sample in samples { #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes) }
  }

  /// A folder in a file's place isn't deleted but set aside, and doesn't block a release.
  @Test(arguments: [true, false], [1, 40]) func folderInAFilesPlace(_ isSmall: Bool, _ count: Int) throws {
    let store = try scratch.open()
    let sha256 = digests[0]
    let sent = Array(samples[..<count])
    let set = Dictionary(uniqueKeysWithValues: sent.enumerated().map { ("f\($0).js", $1) })
    for path in [store.folder.blob(sha256), store.folder.whole(sha256)] {
      try Kernel.makeFolder(path)
      try DurableFile.write([1], to: path + "/notes")
    }
    if isSmall { try store.receive(sent.map(BatchTests.small)) } else { try store.send(sent) }
    try store.publish(base: 0, set: set, sends: false)
    for sample in sent { #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes) }
    let aside = try Folder.textNames(store.folder.quarantine)
    #expect(aside.count == 2)
    for name in aside { #expect(try DurableFile.read("\(store.folder.quarantine)/\(name)/notes") == [1]) }
  }
}
