import Glibc
import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Mirrored documents and files that differ from mirror.json")
struct DamagedDocumentTests {
  /// Changes the bytes of a document, but not the JSON value.
  private func change(_ path: String) throws {
    try VerifyTests.change(path) { $0.append(UInt8(ascii: " ")) }
  }

  private func restore(_ bench: Bench) throws -> (store: Store, report: Restoration.Report) {
    let store = try Store(path: "\(bench.folder)/new-\(Clock.monotonicNanoseconds())")
    return (store, try Restoration(from: FolderReader(bench.www)).restore(into: store))
  }

  static let needed = [
    "policy.json", "prefetchConfig.json", "version.json", "release/3.json", "configure/3.json",
  ]

  @Test("If nothing else is there, nothing is restored, and the document is named", arguments: needed)
  func refused(name: String) throws {
    let bench = try Bench()
    try bench.mirror()
    try change("\(bench.www)/xcache/shop/\(name)")
    let error = #expect(throws: MirrorError.self) { try restore(bench) }
    guard case .damagedMirror(let path, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path == "xcache/shop/\(name)")
  }

  @Test(
    "A damaged channel is skipped and named, and the others are restored",
    arguments: ["policy.json", "version.json"])
  func oneChannel(name: String) throws {
    let bench = try ChannelsTests.bench(["shop online", "shop test"])
    try bench.mirror()
    try change("\(bench.www)/xcache_test/shop/\(name)")
    let (store, report) = try restore(bench)
    #expect(try store.channels().map(\.name) == [.online])
    #expect(report.channels.map(\.channel) == [.online] && report.lost.isEmpty && !report.isWhole)
    #expect(report.damaged.map(\.path) == ["xcache_test/shop/\(name)"])
    #expect(report.damaged.first?.channel.description == "shop test" && report.damaged.first?.version == nil)
  }

  @Test(
    "An older version with a damaged document is skipped and named", arguments: ["release", "configure"],
    [1, 2])
  func oldVersion(kind: String, version: Int) throws {
    for isGone in [true, false] {
      let bench = try Bench()
      try bench.mirror()
      let path = "\(bench.www)/xcache/shop/\(kind)/\(version).json"
      if isGone { try Kernel.remove(path) } else { try change(path) }
      let (store, report) = try restore(bench)
      #expect(report.damaged.map(\.path) == ["xcache/shop/\(kind)/\(version).json"] && !report.isWhole)
      #expect(report.damaged.first?.version == ManifestVersion(Int64(version)))
      let (old, new) = try (bench.shop(bench.store), bench.shop(store))
      #expect(new.version == old.version && new.digest == old.digest)
      #expect(
        try store.keptVersions(of: new, keep: 9).map(\.number) == [1, 2, 3].filter { $0 != Int64(version) })
      #expect(try store.checkup(deep: true).findings.isEmpty)
      try bench.release("main", ["index.html": "<p>next"], into: store)
      #expect(try store.checkup(deep: true).findings.isEmpty)
    }
  }

  @Test("Documents of an interrupted run are newer than mirror.json: its channels are restored and named")
  func interruptedRun() throws {
    let bench = try Bench()
    try bench.mirror()
    try change("\(bench.www)/xcache/shop/version.json")
    let mark = RunMark([try Bench.channel("shop online")])
    try DurableFile.write(mark.document, to: bench.www + "/" + RunMark.path)
    let report = try restore(bench).report
    #expect(report.damaged.isEmpty && report.unfinished.map(\.description) == ["shop online"])
  }

  @Test("An impossible value is reported as the mirror's error, not as the database's")
  func values() throws {
    let bench = try Bench()
    try bench.mirror()
    let name = "xcache/shop/release/3.json"
    try VerifyTests.change("\(bench.www)/\(name)") {
      let text = String(decoding: $0, as: UTF8.self)
      $0 = Array(text.replacing("m.example.com/shop/same.css", with: "m.example.com/shop/sane.css").utf8)
    }
    try HostileIndexTests.list(bench, name)
    let error = #expect(throws: MirrorError.self) { try restore(bench) }
    #expect(error.map { !$0.description.contains("database") && $0.description.contains(bench.www) } == true)
  }

  enum Harm: CaseIterable { case folder, loop, diskError, pipe }

  @Test("If a file can't be read, only that file is skipped, and verify names it", arguments: Harm.allCases)
  func unreadable(_ harm: Harm) throws {
    let bench = try Bench()
    try bench.mirror()
    let path = try bench.path("same.css")
    try Kernel.remove(path)
    switch harm {
    case .folder: try Kernel.makeFolder(path)
    case .loop: #expect(symlink(path, path) == 0)
    // Reading it from the start fails with EIO.
    case .diskError: #expect(symlink("/proc/self/mem", path) == 0)
    case .pipe: #expect(mkfifo(path, 0o600) == 0)
    }
    let report = try restore(bench).report
    #expect(!report.lost.isEmpty && report.lost.allSatisfy { $0.url.hasSuffix("same.css") })
    let found = try Verification(FolderReader(bench.www)).run().divergences
    #expect(found.count == 1 && found[0].path.hasSuffix("same.css"), "\(found)")
  }

  @Test("A document that can't be read is named")
  func unreadableDocument() throws {
    let bench = try ChannelsTests.bench(["shop online", "shop test"])
    let path = "\(bench.www)/xcache_test/shop/configure/1.json"
    try Kernel.remove(path)
    #expect(symlink(path, path) == 0)
    #expect(try restore(bench).report.damaged.map(\.path) == ["xcache_test/shop/configure/1.json"])
    let found = try Verification(FolderReader(bench.www)).run().divergences
    #expect(
      found.contains { $0.path.hasSuffix("shop/configure/1.json") && $0.message.contains("can't be read") })
  }

  @Test("A copy can't be written into an origin's data folder")
  func intoData() throws {
    let bench = try Bench(versions: 1)
    for place in [bench.data, bench.data + "/www", bench.data + "/a/b"] {
      #expect(throws: MirrorError.self) { try bench.mirror(place) }
    }
    #expect(
      try Kernel.status(bench.data + "/www") == nil && Kernel.status(bench.data + "/mirror.json") == nil)
  }
}
