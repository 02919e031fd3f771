import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Copies of several channels")
struct ChannelsTests {
  static let places = ["shop online", "shop test", "mall online", "mall test", "shop beta"]

  /// Two apps and three channels, in a copy.
  static func bench(_ places: [String] = places) throws -> Bench {
    let bench = try Bench(versions: 0)
    for place in places { try publish(bench, place, 1) }
    try bench.mirror()
    return bench
  }

  static func publish(_ bench: Bench, _ place: String, _ version: Int) throws {
    let files = [
      "index.html": "<p>\(place) \(version)", "app.\(version).js": "run('\(place)', \(version))",
      "same.css": "p{}",
    ]
    try bench.release("main", files, remove: version > 1 ? ["app.\(version - 1).js"] : [], in: place)
  }

  static func selection(_ places: String...) throws -> ChannelSelection {
    let named = try places.map(Bench.channel)
    return ChannelSelection(apps: Set(named.map(\.app)), channels: Set(named.map(\.channel)))
  }

  /// Requires every file that the documents name.
  static func requireNothingMissing(_ www: String, _ places: [String] = places) throws {
    for place in places {
      let folder = try "\(www)/\(Bench.channel(place).folder)"
      for name in try Folder.textNames(folder + "/configure").map({ "configure/" + $0 }) + ["configure.json"]
      {
        let bytes = try #require(try DurableFile.read("\(folder)/\(name)"))
        guard case .whole(let whole) = try ConfigureAnswer.parse(bytes) else {
          Issue.record("\(folder)/\(name) is no manifest")
          continue
        }
        for item in try whole.manifest().items {
          let path = try #require(DownloadPlace(item.entry.download)).path.filePath
          let file = try CopyCheck.digest("\(www)/\(path)")
          #expect(file?.sha256 == item.entry.sha256, "\(folder)/\(name) names \(path)")
        }
      }
      for name in ["version.json", "info.json", "policy.json", "prefetchConfig.json"] {
        #expect(try DurableFile.read("\(folder)/\(name)") != nil, "\(folder)/\(name)")
      }
    }
  }

  @Test("All apps and channels are mirrored unless some are named")
  func all() throws {
    let bench = try Self.bench()
    #expect(try Set(bench.index.channels.map(\.name.description)) == Set(Self.places))
    #expect(try bench.index.leftOut == [])
    let one = bench.folder + "/one"
    let report = try bench.mirror(one) { $0.selection = try Self.selection("shop test") }
    #expect(report.channels.map { "\($0.app) \($0.channel)" } == ["shop test"])
    #expect(report.leftOut.map(\.description) == ["mall online", "mall test", "shop beta", "shop online"])
  }

  @Test(
    "A run interrupted at any moment, and one for another channel after it, lose nothing")
  func interruptedAnywhere() throws {
    let bench = try Self.bench()
    let turns = [try Self.selection("shop online"), try Self.selection("mall test"), ChannelSelection.all]
    var (calls, version, ends) = (0, 1, false)
    while !ends {
      version += 1
      for place in Self.places { try Self.publish(bench, place, version) }
      ends =
        (try? bench.mirror(from: FailingSource(bench.store, after: calls)) {
          ($0.prunes, $0.grace, $0.keep) = (true, 0, 1)
          $0.selection = turns[(calls + 2) % 3]
        }) != nil && (calls + 2) % 3 == 2
      let narrow = turns[calls % 2]
      let before = try Bench.files(bench.www)
      try bench.mirror { ($0.prunes, $0.grace, $0.keep, $0.selection) = (true, 0, 1, narrow) }
      try Self.requireNothingMissing(bench.www)
      let after = try Bench.files(bench.www)
      for (path, bytes) in before where after[path] != bytes {
        let isAbout = try Self.isAbout(path, narrow)
        #expect(isAbout, "after \(calls) calls: a run about \(narrow.message ?? "all") changed \(path)")
      }
      let index = try bench.index
      #expect(Set(index.channels.map(\.name.description)) == Set(Self.places))
      let report = try Verification(FolderReader(bench.www)).run()
      #expect(!report.divergences.contains { $0.kind == .missing }, "\(report.divergences)")
      if index.channels.contains(where: \.isUnfinished) {
        #expect(report.hasErrors)
      } else {
        #expect(report.divergences.isEmpty, "after \(calls) calls: \(report.divergences)")
      }
      calls += 1
    }
    #expect(calls > 30)
    try bench.mirror { ($0.prunes, $0.grace, $0.keep) = (true, 0, 1) }
    #expect(
      try Verification(FolderReader(bench.www), against: DataSource(store: bench.store)).run().divergences
        .isEmpty)
    let fresh = bench.folder + "/fresh"
    try bench.mirror(fresh) { $0.keep = 1 }
    let (files, others) = (try Bench.files(bench.www), try Bench.files(fresh))
    #expect(Set(files.keys) == Set(others.keys))
    // A release's document has the resource versions of the time when it was the newest.
    for (path, bytes) in files where !path.contains("/release/") { #expect(others[path] == bytes, "\(path)") }
  }

  /// Whether a file may belong to the channels of a run.
  private static func isAbout(_ path: String, _ selection: ChannelSelection) throws -> Bool {
    let (shop, mall) = (try AppName("shop"), try AppName("mall"))
    return switch MirrorPath.owner(path) {
    case .document(let channel): selection.contains(channel)
    // Apps are numbered in the order of `places`.
    case .resource(let channel, let id):
      selection.contains(MirroredChannel(id == 1 ? shop : mall, channel))
    case .delta(let channel): selection.contains(channel)
    case nil: false
    }
  }

  @Test("A channel that an interrupted run left inconsistent stays marked until a run includes it")
  func inconsistentChannel() throws {
    let bench = try Self.bench(["shop online", "shop test"])
    // The documents of "test" are those of its second version, mirror.json's are those of the first.
    try Self.publish(bench, "shop test", 2)
    // The first call that fails after a document was written leaves the mark.
    var calls = 0
    while try DurableFile.read(bench.www + "/" + RunMark.path) == nil {
      _ = try? bench.mirror(from: FailingSource(bench.store, after: calls)) {
        $0.selection = try Self.selection("shop test")
      }
      calls += 1
    }
    let report = try bench.mirror { $0.selection = try Self.selection("shop online") }
    #expect(report.unfinished.map(\.description) == ["shop test"])
    #expect(try DurableFile.read(bench.www + "/" + RunMark.path) == nil)
    let verified = try Verification(FolderReader(bench.www)).run()
    #expect(
      verified.divergences.contains { $0.kind == .unfinished(report.unfinished[0]) } && verified.hasErrors)
    try bench.mirror { $0.selection = try Self.selection("shop online") }
    #expect(try bench.index.channels.filter(\.isUnfinished).map(\.name.description) == ["shop test"])
    try bench.mirror { $0.selection = try Self.selection("shop test") }
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test(
    "The empty mark of an older xcache, and a damaged one, name every channel",
    arguments: ["", "{", "{\"channels\":[{\"app\":\"shop\"}]}"])
  func oldMark(text: String) throws {
    let (online, test) = (try Bench.channel("shop online"), try Bench.channel("shop test"))
    let mark = RunMark(parsing: Array(text.utf8))
    #expect(mark.channels == nil && mark.names(online))
    let named = RunMark([test])
    #expect(RunMark(parsing: named.document) == named && !named.names(online))
  }

  @Test("Runs for one channel after another, and two concurrent ones, name all channels")
  func alternating() throws {
    let bench = try Bench(versions: 0)
    for place in Self.places { try Self.publish(bench, place, 1) }
    for place in Self.places {
      try bench.mirror { ($0.selection, $0.prunes, $0.grace) = (try Self.selection(place), true, 0) }
    }
    #expect(try Set(bench.index.channels.map(\.name.description)) == Set(Self.places))
    try Self.requireNothingMissing(bench.www)
    for place in Self.places { try Self.publish(bench, place, 2) }
    try Parallel.forEach(Self.places.count, threads: 5) { (index) throws(MirrorError) in
      // The lock admits one run; the others try again.
      while true {
        do {
          try bench.mirror {
            ($0.selection, $0.prunes, $0.grace) = (try Self.selection(Self.places[index]), true, 0)
          }
          return
        } catch MirrorError.locked {
          Clock.sleep(for: .milliseconds(5))
        } catch let error as MirrorError {
          throw error
        } catch { throw .badPlace("\(error)") }
      }
    }
    #expect(try bench.index.channels.map(\.version.number) == [2, 2, 2, 2, 2])
    try Self.requireNothingMissing(bench.www)
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test("A channel removed at the origin is removed by a run that includes it, and by no other")
  func removed() throws {
    let bench = try Self.bench(["shop online", "shop test", "mall online"])
    try bench.release("main", [:], remove: ["index.html", "app.1.js", "same.css"], in: "shop test")
    _ = try bench.store.removeChannel(AppName("shop"), ChannelName("test"), by: .local)
    try bench.mirror { ($0.selection, $0.prunes, $0.grace) = (try Self.selection("shop online"), true, 0) }
    try bench.mirror(from: LimitedSource(bench.store, to: "mall")) { ($0.prunes, $0.grace) = (true, 0) }
    try Self.requireNothingMissing(bench.www, ["shop online", "shop test", "mall online"])
    let report = try bench.mirror { $0.prunes = true }
    #expect(report.gone.map(\.description) == ["shop test"] && report.removed == 0)
    try Self.requireNothingMissing(bench.www, ["shop online", "shop test", "mall online"])
    #expect(try bench.mirror { ($0.prunes, $0.grace) = (true, 0) }.removed > 5)
    #expect(try Kernel.status(bench.www + "/xcache_test/shop") == nil)
    try Self.requireNothingMissing(bench.www, ["shop online", "mall online"])
  }

  @Test("A token limited to some apps mirrors those, changes nothing else, and the report says so")
  func limited() throws {
    let bench = try Self.bench(["shop online", "mall online"])
    try Self.publish(bench, "mall online", 2)
    let report = try bench.mirror(from: LimitedSource(bench.store, to: "mall")) {
      ($0.prunes, $0.grace) = (true, 0)
    }
    #expect(report.readable.message == "app mall" && report.untouched.map(\.description) == ["shop online"])
    try Self.requireNothingMissing(bench.www, ["shop online", "mall online"])
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }
}
