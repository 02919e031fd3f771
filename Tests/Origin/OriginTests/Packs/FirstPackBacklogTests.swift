import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// First packs that take long, or are lost.
@Suite struct FirstPackBacklogTests {
  /// The sample with a picture of 1 MiB, four of the pieces in which files are read.
  private static func publishLarge(_ origin: TestOrigin) throws -> ChannelInfo {
    let picture = (0..<16_384).map { SHA256.of(Array("\($0)".utf8)).hex }.joined()
    try origin.publish(FirstPackServingTests.files.merging(["a.png": picture]) { $1 })
    return try #require(try origin.store.channels().first)
  }

  /// What stops the work does so within a file.
  @Test func largeFilesAreLeftInTheMiddle() throws {
    let origin = try TestOrigin()
    let channel = try Self.publishLarge(origin)
    let worker = FirstPackServingTests.worker(origin)
    try worker.choose(channel)
    // Five files are searched for names; six are encoded in a piece each, and then the picture.
    let asked = Locked(0)
    func ask() -> Int {
      asked.withLock { asked in
        asked += 1
        return asked
      }
    }
    let stopped = try worker.work(channel) { ask() < 13 }
    guard case .stopped = stopped else {
      Issue.record("the work didn't stop")
      return
    }
    #expect(asked.withLock { $0 } == 13 && FirstPackServingTests.packNames(origin).isEmpty)
    asked.withLock { $0 = 0 }
    let made = try worker.work(channel) { ask() > 0 }
    guard case .done = made else {
      Issue.record("the pack isn't made")
      return
    }
    #expect(try asked.withLock { $0 } == 15 && FirstPackServingTests.first(origin) != nil)
  }

  /// The backlog of other channels, and of a later release, goes on while a first pack takes long.
  @Test func nothingElseWaitsForThem() throws {
    let (isHeld, goesOn) = (Locked(false), Monitor(false))
    let push = ReleasePush(names: { _ in [] }, push: { _ in }) { (pack, _) throws(StoreError) in
      guard pack.isFirst else { return }
      isHeld.withLock { $0 = true }
      goesOn.waiting { $0 ? () : nil }
    }
    let origin = try TestOrigin { $0.push = push }
    try origin.publish(FirstPackServingTests.files)
    try origin.origin.startBackgroundWork()
    defer {
      goesOn.broadcasting { $0 = true }
      origin.origin.beginStopping()
    }
    #expect(try PackServingTests.becomesTrue { isHeld.withLock { $0 } })
    for version in 1...2 {
      try origin.publish(["b.js": FirstPackServingTests.script("b", version)], app: "other")
    }
    try origin.publish(["js/main.js": FirstPackServingTests.script("main", 2)])
    for channel in try origin.store.channels() {
      #expect(
        try PackServingTests.becomesTrue {
          try origin.store.derived.isDone(channel.id, from: ManifestVersion(1), to: ManifestVersion(2))
        }, "\(channel.app)")
    }
    #expect(try FirstPackServingTests.first(origin) == nil)
    goesOn.broadcasting { $0 = true }
    #expect(try PackServingTests.becomesTrue { try FirstPackServingTests.first(origin) != nil })
  }

  enum Loss: CaseIterable { case damaged, truncated, removed }

  /// Whoever finds one lost has manifests no longer name it, at once, and the log say so.
  @Test(arguments: Loss.allCases) func lostOnesAreNoLongerNamed(loss: Loss) throws {
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { $0.log = { line in lines.withLock { $0.append(line) } } }
    try origin.publish(FirstPackServingTests.files)
    let channel = try #require(try origin.store.channels().first)
    let worker = FirstPackServingTests.worker(origin)
    try worker.choose(channel)
    _ = try worker.work(channel) { true }
    let (path, _) = try #require(try FirstPackServingTests.first(origin))
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    let file = origin.store.derived.packFile(pack, of: channel)
    switch loss {
    case .damaged: try flip(file)
    case .truncated: try DurableFile.write([1], to: file)
    case .removed: try Kernel.remove(file)
    }
    #expect(try origin.ask("GET", path).status == 404)
    #expect(try FirstPackServingTests.first(origin) == nil)
    #expect(
      lines.withLock { $0.filter { $0.contains("first pack") } } == [
        "error: the first pack of shop online for 1 is gone, perhaps because it was found damaged; it is made again"
      ])
    // The check of each minute has nothing to add.
    try origin.origin.builder.checkPacks(origin.store) { line in lines.withLock { $0.append(line) } }
    #expect(lines.withLock { $0.count { $0.contains("first pack") } } == 1)
    try worker.choose(channel)
    _ = try worker.work(channel) { true }
    #expect(try FirstPackServingTests.first(origin)?.path == path)
  }
}
