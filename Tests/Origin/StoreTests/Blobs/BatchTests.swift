import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Many small files uploaded together.
@Suite struct BatchTests {
  static func small(_ sample: Sample) -> SmallFile {
    SmallFile(claim: sample.claim, bytes: sample.bytes[...])
  }

  @Test func eachFileIsStoredOnce() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let samples = (0..<50).map { Sample("file \($0)") }
    // One file twice, and one that already exists.
    let known = samples[7]
    _ = try store.receive(known.bytes.span.bytes, known.claim)
    try store.receive((samples + [samples[3]]).map(Self.small))
    #expect(try store.missing(of: samples.map(\.claim.sha256)).isEmpty)
    #expect(
      try store.blobs.files().sorted()
        == samples.map(\.claim.sha256).filter { $0 != known.claim.sha256 }.sorted())
    #expect(try Folder.textNames(store.folder.whole) == [known.claim.sha256.hex])
    #expect(try Folder.textNames(store.folder.temporary) == ["whole"])
    try store.receive(samples.map(Self.small))
  }

  @Test func firstInvalidFileEndsTheBatch() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let samples = (0..<5).map { Sample("file \($0)") }
    var files = samples.map(Self.small)
    files[3] = SmallFile(claim: samples[3].claim, bytes: samples[2].bytes[...])
    #expect {
      try store.receive(files)
    } throws: {
      if case .digestMismatch = $0 as? StoreError { true } else { false }
    }
    #expect(try store.missing(of: samples.map(\.claim.sha256)) == samples[3...].map(\.claim.sha256))
  }

  /// A partial file left by a crash doesn't count as present, and is replaced.
  @Test(arguments: [false, true]) func partialFile(_ isBeforeTheStart: Bool) throws {
    let scratch = Scratch()
    let sample = Sample("a file")
    do {
      let store = try scratch.open()
      try store.receive([Self.small(sample)])
      try DurableFile.write(Array(sample.bytes.dropLast(2)), to: store.folder.blob(sample.claim.sha256))
    }
    let store = try scratch.open()
    if !isBeforeTheStart { #expect(try store.missing(of: [sample.claim.sha256]) == [sample.claim.sha256]) }
    try store.receive([Self.small(sample)])
    #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
    _ = try store.publish(base: 0, set: ["a": sample], sends: false)
    #expect(try store.open(sample.claim.sha256).size == Int64(sample.bytes.count))
  }

  /// Complete files uploaded before a restart are found and released after it.
  @Test func uploadsSurviveARestart() throws {
    let scratch = Scratch()
    let samples = (0..<40).map { Sample("file \($0)") }
    let digests = samples.map(\.claim.sha256)
    do { try scratch.open().receive(samples.map(Self.small)) }
    let store = try scratch.open()
    #expect(try store.missing(of: digests).isEmpty)
    // gc, while a publisher relies on that.
    _ = try store.collect()
    let set = Dictionary(uniqueKeysWithValues: samples.enumerated().map { ("f\($0).js", $1) })
    _ = try store.publish(base: 0, set: set, sends: false)
    for sample in samples { #expect(try store.open(sample.claim.sha256).size == Int64(sample.bytes.count)) }
  }

  /// A release names no file that was removed or truncated since its upload, and can be retried after sending it again.
  @Test(arguments: [4, 400]) func lostUploadsAreSentAgain(count: Int) throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let samples = (0..<count).map { Sample("file \($0)") }
    try store.receive(samples.map(Self.small))
    let (gone, cut) = (samples[1].claim.sha256, samples[2].claim.sha256)
    try Kernel.remove(store.folder.blob(gone))
    try DurableFile.write([], to: store.folder.blob(cut))
    let set = Dictionary(uniqueKeysWithValues: samples.enumerated().map { ("f\($0).js", $1) })
    #expect {
      try store.publish(base: 0, set: set, sends: false)
    } throws: {
      if case .missingBlobs(let missing) = $0 as? StoreError { Set(missing) == [gone, cut] } else { false }
    }
    #expect(try Set(store.missing(of: samples.map(\.claim.sha256))) == [gone, cut])
    try store.receive([Self.small(samples[1]), Self.small(samples[2])])
    _ = try store.publish(base: 0, set: set, sends: false)
    for sample in samples { #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes) }
  }

  /// Uploads without a reservation are removed by the first gc after a restart.
  @Test func gcRemovesUnreservedUploads() throws {
    let scratch = Scratch()
    let samples = (0..<40).map { Sample("file \($0)") }
    do { try scratch.open().receive(samples.map(Self.small)) }
    let store = try scratch.open()
    #expect(try store.collect().orphans.count == 40)
    #expect(try store.blobs.files().isEmpty)
    #expect(try store.missing(of: samples.map(\.claim.sha256)).count == 40)
    try store.receive(samples.map(Self.small))
    #expect(try store.missing(of: samples.map(\.claim.sha256)).isEmpty)
  }

  /// Uploads are kept for a day, with or without gc, and longer while a publisher relies on them.
  @Test func uploadsAreKeptForADay() throws {
    let scratch = Scratch()
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    let samples = [Sample("wanted"), Sample("not wanted")]
    try store.receive(samples.map(Self.small))
    now.withLock { $0 += 23 * 3_600_000 }
    _ = try store.collect()
    #expect(try store.blobs.files().count == 2)
    now.withLock { $0 += 2 * 3_600_000 }
    #expect(try store.missing(of: [samples[0].claim.sha256]).isEmpty)
    #expect(try store.sweepUploads().files == 1)
    #expect(try store.blobs.files() == [samples[0].claim.sha256])
    #expect(try store.missing(of: samples.map(\.claim.sha256)) == [samples[1].claim.sha256])
    _ = try store.publish(base: 0, set: ["a": samples[0]], sends: false)
    now.withLock { $0 += 50 * 3_600_000 }
    #expect(try store.sweepUploads().files == 0)
    #expect(try store.open(samples[0].claim.sha256).size > 0)
  }

  /// A complete file that was deleted, with a partial file of an earlier process under its name, is sent again.
  @Test func fileNameAloneIsNotTrusted() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let sample = Sample("a file")
    try store.send([sample])
    try DurableFile.write([1, 2, 3], to: store.folder.blob(sample.claim.sha256))
    try Kernel.remove(store.folder.whole(sample.claim.sha256))
    #expect {
      try store.publish(base: 0, set: ["a": sample], sends: false)
    } throws: {
      if case .missingBlobs([sample.claim.sha256]) = $0 as? StoreError { true } else { false }
    }
    _ = try store.publish(base: 0, set: ["a": sample])
    #expect(try store.open(sample.claim.sha256).size == Int64(sample.bytes.count))
  }

  /// An unknown file has the name.
  @Test func nameInUse() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let sample = Sample("a file")
    try DurableFile.write([1, 2, 3], to: store.folder.blob(sample.claim.sha256))
    #expect(try store.missing(of: [sample.claim.sha256]) == [sample.claim.sha256])
    try store.receive([Self.small(sample)])
    #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
  }

  /// Each disk operation fails once; files stored before it are kept, and the next attempt stores the others.
  @Test func failingDisk() throws {
    let samples = (0..<4).map { Sample("file \($0)") }
    for nth in 0..<20 {
      let scratch = Scratch()
      let count = Locked(0)
      var options = Store.Options()
      options.disk = Disk { (step, path) throws(SystemError) in
        let isNow = count.withLock { count in
          count += 1
          return count == nth + 1
        }
        if isNow { throw SystemError(step, on: path, code: .noSpace) }
      }
      let store = try scratch.open(options)
      let failed = (try? store.receive(samples.map(Self.small))) == nil
      let missing = try store.missing(of: samples.map(\.claim.sha256))
      #expect(failed == !missing.isEmpty)
      for sample in samples where !missing.contains(sample.claim.sha256) {
        #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
      }
      try store.receive(samples.map(Self.small))
      #expect(try store.missing(of: samples.map(\.claim.sha256)).isEmpty)
      if !failed { return }
    }
    Issue.record("it never succeeds")
  }

  /// The disk is full for one sender of a file, while another one completes the same file.
  @Test func fullDiskKeepsFilesOfOtherSenders() throws {
    let scratch = Scratch()
    let sample = Sample("a file")
    let other = Locked<Store?>(nil)
    var options = Store.Options()
    options.disk = Disk { (step, path) throws(SystemError) in
      guard "\(step)" == "write", path.hasSuffix(sample.claim.sha256.hex.dropFirst(2)),
        let store = other.withLock({ store in
          defer { store = nil }
          return store
        })
      else { return }
      let stored = try? store.receive(sample.bytes.span.bytes, sample.claim)
      #expect(stored == .stored)
      throw SystemError(step, on: path, code: .noSpace)
    }
    let store = try scratch.open(options)
    other.withLock { $0 = store }
    #expect(throws: StoreError.self) { try store.receive([Self.small(sample)]) }
    #expect(try store.missing(of: [sample.claim.sha256]).isEmpty)
    #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
  }

  @Test func concurrentBatches() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    let samples = (0..<300).map { Sample("file \($0)") }
    let failures = Locked(0)
    Parallel.run(threads: 4) {
      do { try store.receive(samples.map(Self.small)) } catch { failures.withLock { $0 += 1 } }
    }
    #expect(failures.withLock { $0 } == 0)
    for sample in samples {
      #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
    }
    #expect(try Folder.textNames(store.folder.temporary) == ["whole"])
  }
}

extension BatchTests {
  /// The process is killed at each step of a batch and of its release: files are complete or missing, and a retry has the same result.
  @Test(arguments: 1...25)
  func killedBatchLeavesNoPartialFiles(fatal: Int) async throws {
    let scratch = Scratch()
    let data = scratch.data
    let isOver = fatal > 20
    try await #require(processExitsWith: .signal(SIGKILL)) { [data = data as String, fatal = fatal as Int] in
      let trap = CrashTests.Trap()
      var options = Store.Options()
      options.disk = Disk { _, _ in trap.step() }
      let store = try Store(path: data, options: options)
      trap.arm(fatal)
      try store.receive(CrashTests.set.values.map(BatchTests.small))
      let request = try store.request([try store.change("main", base: 0, set: CrashTests.set)])
      _ = try store.commit(request)
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    let samples = CrashTests.set.values.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    let missing = try store.missing(of: samples.map(\.claim.sha256))
    for sample in samples where !missing.contains(sample.claim.sha256) {
      #expect(try store.bytes(of: sample.claim.sha256, limit: 100) == sample.bytes)
    }
    #expect(!isOver || missing.isEmpty)
    try store.receive(samples.map(Self.small))
    _ = try store.commit(store.request([try store.change("main", base: 0, set: CrashTests.set)]))
    for sample in samples {
      let blob = try store.open(sample.claim.sha256)
      #expect(blob.size == Int64(sample.bytes.count))
    }
  }
}
