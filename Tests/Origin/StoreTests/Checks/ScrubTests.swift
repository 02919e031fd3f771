import CSQLite
import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct ScrubTests {
  let scratch = Scratch()
  private static let week = 7.0 * 24 * 3600

  @Test func roundTakesLessThanItsPeriod() {
    let pace = ScrubPace(period: Self.week)
    let size: Int64 = 1 << 40
    let even = pace.rate(files: 1000, bytes: size, age: 3600)
    #expect(Double(size) / even < Self.week * 0.72 && Double(size) / even > Self.week * 0.7)
    // When late, it is up to eight times as fast.
    let late = pace.rate(files: 1000, bytes: size, age: Self.week * 6 / 7)
    #expect(late > 2 * even && late < 8 * even)
    #expect(pace.rate(files: 1000, bytes: size, age: Self.week * 3) == 8 * even)
    #expect(pace.rate(files: 0, bytes: 0, age: 0) > 0)
  }

  /// A server that is restarted each day, with files of very different sizes, and new ones.
  @Test(arguments: 1...5) func everyFileIsReadInAWeek(seed: UInt64) {
    struct File {
      var size: Double
      var readAt = 0.0
    }
    var random = seed &* 0x9E37_79B9_7F4A_7C15
    func next(_ below: Double) -> Double {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Double(random >> 33) / Double(UInt64(1) << 31) * below
    }
    let pace = ScrubPace(period: Self.week)
    var files = (0..<300).map { _ in File(size: next(1) < 0.02 ? next(60e9) : next(2e6)) }
    var (now, restart, oldest) = (0.0, 86400.0, 0.0)
    while now < 4 * Self.week {
      let index = files.indices.min { files[$0].readAt < files[$1].readAt } ?? 0
      let file = files[index]
      let rate = pace.rate(
        files: files.count, bytes: Int64(files.reduce(0) { $0 + $1.size }), age: now - file.readAt)
      let end = now + file.size / pace.rate(ofFile: Int64(file.size), at: rate)
      if end > restart {
        // The partial read doesn't count.
        now = restart + 60
        restart += 86400
        files.append(File(size: next(5e9), readAt: now))
        continue
      }
      oldest = max(oldest, end - file.readAt)
      files[index].readAt = end
      now = max(end, min(now + pace.cost(of: Int64(file.size)) / rate, restart))
    }
    #expect(oldest < Self.week, "\(oldest / 86400) days")
  }

  @Test func continuesAfterARestart() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    do {
      let store = try scratch.open(options)
      for number in 0..<4 {
        try store.publish(base: Int64(number), set: ["f\(number)": Sample("bytes \(number)")])
        now.withLock { $0 += 1000 }
      }
      let items = try store.nextToScrub(limit: 2)
      #expect(items.map(\.kind) == (0..<2).map { .blob(Sample("bytes \($0)").claim.sha256) })
      for item in items { #expect(try store.scrub(item) { _ in true } == .good) }
      try store.noteScrubbed(items)
    }
    let store = try scratch.open(options)
    let order = try store.nextToScrub(limit: 10).map(\.kind)
    #expect(order == [2, 3, 0, 1].map { .blob(Sample("bytes \($0)").claim.sha256) })
    #expect(try store.scrubState().files == 4)
  }

  /// However many files there are, the ones that come next are found by an index, and nothing is sorted.
  @Test func nextFilesAreFoundByAnIndex() throws {
    let store = try scratch.open()
    var set: [String: Sample] = [:]
    for number in 0..<500 { set["f\(number)"] = Sample("bytes \(number)") }
    try store.publish(base: 0, set: set)
    func counters() throws -> [Int] {
      try store.connections.reading { db in
        [SQLITE_STMTSTATUS_FULLSCAN_STEP, SQLITE_STMTSTATUS_SORT, SQLITE_STMTSTATUS_VM_STEP].map {
          db.counter($0, reset: true)
        }
      }
    }
    _ = try counters()
    #expect(try store.nextToScrub(limit: 2).count == 2)
    let found = try counters()
    #expect(found[0] == 0 && found[1] == 0 && found[2] < 300, "\(found)")
  }

  /// While the clock is ahead, files are read; once it is right again, these times mean nothing.
  @Test func filesReadAtAFutureTimeAreReadNext() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    for number in 0..<3 {
      try store.publish(base: Int64(number), set: ["f\(number)": Sample("bytes \(number)")])
      now.withLock { $0 += 1000 }
    }
    let target = Sample("bytes 2").claim.sha256
    try store.derived.keep([1, 2, 3, 4], of: target, on: Sample("bytes 1").claim.sha256)
    let items = try store.nextToScrub(limit: 10)
    let ahead = try #require(items.first { $0.kind == .blob(target) })
    let derived = try #require(items.first { if case .derived = $0.kind { true } else { false } })
    now.withLock { $0 += 365 * 86_400_000 }
    try store.noteScrubbed([ahead, derived])
    now.withLock { $0 -= 364 * 86_400_000 }
    #expect(Set(try store.nextToScrub(limit: 2).map(\.kind)) == [ahead.kind, derived.kind])
    // After it is read again, it is the last one.
    try store.noteScrubbed([ahead, derived])
    #expect(Set(try store.nextToScrub(limit: 4).suffix(2).map(\.kind)) == [ahead.kind, derived.kind])
  }

  @Test func fileRestoredMeanwhileIsKept() throws {
    let store = try scratch.open()
    let sample = Sample("a file of bytes")
    let path = store.folder.blob(sample.claim.sha256)
    try store.publish(base: 0, set: ["a": sample])
    let bad = try #require(try Kernel.status(path)?.inode)
    try DurableFile.write(sample.bytes, to: path)
    // Found damaged by a reader that opened it before.
    #expect(try !store.blobs.quarantine(sample.claim.sha256, inode: bad))
    #expect(try store.missing(of: [sample.claim.sha256]).isEmpty)
  }

  @Test func largeFilesAreReadInSlices() throws {
    let store = try scratch.open()
    let sample = Sample(String(repeating: "0123456789abcdef", count: 200_000))
    try store.publish(base: 0, set: ["a": sample])
    let item = try #require(try store.nextToScrub(limit: 1).first)
    var slices: [Int] = []
    #expect(
      try store.scrub(item) {
        slices.append($0)
        return slices.count < 2
      } == .stopped)
    #expect(slices == [1 << 20, 1 << 20])
    #expect(try store.scrub(item) { _ in true } == .good)
  }

  @Test func derivedFilesAreVerified() throws {
    let store = try scratch.open()
    let (target, base) = (SHA256.of([1]), SHA256.of([2]))
    try store.derived.keep([1, 2, 3, 4], of: target, on: base)
    try store.derived.markDone(1, from: ManifestVersion(1), to: ManifestVersion(2))
    let edition = store.changes.edition
    try DurableFile.write([1, 2, 3, 5], to: store.derived.deltaFile(target, on: base))
    #expect(try store.scrub { _ in true }.isEmpty)
    #expect(store.changes.edition != edition && store.changes.found.derived == 1)
    #expect(try store.derived.open(target, on: base) == nil)
    // It is missing now, and made again.
    #expect(try store.derived.pairs(of: target).isEmpty)
    #expect(try !store.derived.isDone(1, from: ManifestVersion(1), to: ManifestVersion(2)))
    // An unknown file isn't served.
    try store.derived.keepFile([1, 2, 3], at: store.derived.file(target, "gzip"))
    try store.derived.work { (db) throws(StoreError) in try db.run("DELETE FROM file") }
    #expect(try store.derived.openFile(store.derived.file(target, "gzip")) == nil)
  }

  @Test("doctor --deep verifies derived files, and changes nothing", arguments: ["gzip", "delta"])
  func checkupOfDerivedFiles(kind: String) throws {
    let store = try scratch.open()
    let (target, base) = (SHA256.of([1]), SHA256.of([2]))
    let path = kind == "gzip" ? store.derived.file(target, "gzip") : store.derived.deltaFile(target, on: base)
    if kind == "gzip" {
      try store.derived.keepFile([1, 2, 3], at: path)
    } else {
      try store.derived.keep([1, 2, 3], of: target, on: base)
    }
    #expect(try store.checkup(deep: true).findings.isEmpty)
    for wrong: [UInt8] in [[1, 2, 4], [1, 2], []] {
      try DurableFile.write(wrong, to: path)
      let found = try store.checkup(deep: true)
      #expect(found.findings.map(\.code) == ["derived-bytes"] && found.isClean == (kind == "delta"))
      #expect(found.findings.first?.text.contains(path) == true && found.hashed == 3)
      #expect(try store.checkup(deep: false).isClean)
      #expect(try DurableFile.read(path) == wrong)
    }
    try Kernel.remove(path)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test func digestOfAnotherSizeFailsOnlyTheQuery() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("PRAGMA ignore_check_constraints = ON; DROP TRIGGER blob_is_immutable")
      try db.script("UPDATE blob SET sha256 = x'00', md5 = x'00'")
    }
    #expect(throws: StoreError.self) { _ = try store.nextToScrub(limit: 1) }
    #expect(throws: StoreError.self) {
      _ = try store.manifest(try store.shop(), at: ManifestVersion(1))
    }
  }
}
