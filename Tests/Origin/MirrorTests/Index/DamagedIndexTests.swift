import SocketServer
import Store
import System
import Testing
import Values

@testable import Mirror

@Suite("A damaged mirror.json")
struct DamagedIndexTests {
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (inout [UInt8]) -> Void
  }

  static let damages = [
    Damage(testDescription: "missing") { $0 = [] },
    Damage(testDescription: "cut off") { $0.removeLast($0.count / 2) },
    Damage(testDescription: "one byte") { $0[0] = UInt8(ascii: "[") },
    Damage(testDescription: "without channels' files") {
      $0 = Array(String(decoding: $0, as: UTF8.self).replacing("\"size\":", with: "\"sizes\":").utf8)
    },
    Damage(testDescription: "a size beyond all numbers") {
      $0 = Array(
        String(decoding: $0, as: UTF8.self).replacing("\"size\":", with: "\"size\":9007199254740991").utf8)
    },
    Damage(testDescription: "paths that lead out") {
      $0 = Array(
        String(decoding: $0, as: UTF8.self).replacing("\"xcache/shop/", with: "\"xcache/../../").utf8)
    },
  ]

  private func damage(_ bench: Bench, _ damage: Damage) throws {
    let path = bench.www + "/mirror.json"
    try VerifyTests.change(path, damage.make)
    if try DurableFile.read(path) == [] { try Kernel.remove(path) }
  }

  @Test(
    "A run for some channels is refused if it would forget others; one for all channels repairs the copy",
    arguments: damages)
  func repairs(_ damage: Damage) throws {
    let bench = try ChannelsTests.bench()
    let files = try Bench.files(bench.www)
    try self.damage(bench, damage)
    for _ in 0..<2 {
      #expect(throws: MirrorError.self) {
        try bench.mirror {
          ($0.selection, $0.prunes, $0.grace) = (try ChannelsTests.selection("shop online"), true, 0)
        }
      }
      #expect(throws: MirrorError.self) {
        try bench.mirror(from: LimitedSource(bench.store, to: "mall")) { ($0.prunes, $0.grace) = (true, 0) }
      }
    }
    #expect(try Bench.files(bench.www) == files)
    let report = try bench.mirror { ($0.prunes, $0.grace) = (true, 0) }
    #expect(report.removed == 0 && report.channels.count == ChannelsTests.places.count)
    #expect(try Bench.files(bench.www) == files)
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test("The error names the path or URL of mirror.json, and recognises a web page in its place")
  func errorNamesThePlace() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    let page = Array("\n<!doctype html>\n<title>Nothing here".utf8)
    try DurableFile.write(page, to: bench.www + "/mirror.json")
    let server = SocketServer { _ in .answer(body: page) }
    let readers: [any MirrorReader] = [FolderReader(bench.www), WebReader(try BaseURL(server.url))]
    for reader in readers {
      let error = #expect(throws: MirrorError.self) { try Verification(reader).run() }
      let words = error.map { "\($0)" } ?? ""
      #expect(words.contains("\(reader.name)/mirror.json is a web page"), "\(words)")
    }
    try DurableFile.write([0x7b], to: bench.www + "/mirror.json")
    let error = #expect(throws: MirrorError.self) { try Verification(FolderReader(bench.www)).run() }
    #expect(error.map { "\($0)" }?.contains("\(bench.www)/mirror.json can't be read") == true)
  }

  @Test("An interrupted first run doesn't force the next one to include all channels")
  func interruptedFirstRun() throws {
    let bench = try ChannelsTests.bench()
    try Kernel.remove(bench.www + "/mirror.json")
    let all = try Set(ChannelsTests.places.map(Bench.channel))
    try DurableFile.write(RunMark(all).document, to: bench.www + "/" + RunMark.path)
    let report = try bench.mirror {
      ($0.selection, $0.prunes, $0.grace) = (try ChannelsTests.selection("shop online"), true, 0)
    }
    #expect(report.leftOut.count == ChannelsTests.places.count - 1)
    try ChannelsTests.requireNothingMissing(bench.www)
  }

  @Test("A mirror.json of a newer xcache is left unchanged")
  func newer() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    let path = bench.www + "/mirror.json"
    try VerifyTests.change(path) {
      $0 = Array(String(decoding: $0, as: UTF8.self).replacing("\"format\":1", with: "\"format\":2").utf8)
    }
    let bytes = try DurableFile.read(path)
    let error = #expect(throws: MirrorError.self) { try bench.mirror() }
    if case .newer = error {} else { Issue.record("\(String(describing: error))") }
    #expect(try DurableFile.read(path) == bytes)
  }

  @Test(
    "No number in it crashes a program",
    arguments: ["-9223372036854775808", "9223372036854775807", "-1", "1e99"])
  func hostileNumbers(_ number: String) throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    let text = String(decoding: try bench.index.document, as: UTF8.self)
    let at = try "\"at\":\(bench.index.at)"
    for (part, other) in [
      (at, "\"at\":\(number)"), ("\"size\":", "\"size\":\(number),\"was\":"),
      ("\"leaving\":{", "\"leaving\":{\"xcache/shop/info.json.old\":\(number)"),
    ] {
      try DurableFile.write(Array(text.replacing(part, with: other).utf8), to: bench.www + "/mirror.json")
      let reader = FolderReader(bench.www)
      _ = try? Verification(reader, maxAge: 5).run()
      MirrorMonitor(reader, newest: { [] }, log: { _ in }).look()
      let store = try Store(path: "\(bench.folder)/new-\(Clock.monotonicNanoseconds())")
      _ = try? Restoration(from: reader).restore(into: store)
      try bench.mirror { ($0.prunes, $0.grace) = (true, 1000) }
      #expect(try Verification(reader, maxAge: 5).run().divergences.isEmpty)
    }
  }

  @Test("A mirror.json that lists a channel twice is invalid")
  func twice() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    var index = try bench.index
    index.channels += index.channels
    #expect(throws: MirrorError.self) { try MirrorIndex(parsing: index.document) }
  }
}
