import Manifests
import System
import Testing
import Values

@testable import Mirror

@Suite("Verifying a mirror")
struct VerifyTests {
  /// A fault of a mirror.
  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The end of the finding's path, and the beginning of its message.
    let path: String
    let words: String
    let seed: @Sendable (Bench) throws -> Void
  }

  static func change(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = try DurableFile.read(path) ?? []
    change(&bytes)
    try DurableFile.write(bytes, to: path)
  }

  static let faults = [
    Fault(testDescription: "a missing resource", path: "app.2.js", words: "it is missing") {
      try Kernel.remove($0.path("app.2.js"))
    },
    Fault(testDescription: "a missing patch", path: "patch/1-3.json", words: "it is missing") {
      try Kernel.remove($0.path("patch/1-3.json"))
    },
    Fault(testDescription: "a truncated resource", path: "app.1.js", words: "it has 5 bytes, not 6") {
      try change($0.path("app.1.js")) { $0.removeLast() }
    },
    Fault(testDescription: "a truncated document", path: "release/3.json", words: "it has 3 bytes") {
      try change($0.path("release/3.json")) { $0 = Array($0.prefix(3)) }
    },
    Fault(testDescription: "a flipped byte", path: "same.css", words: "its content doesn't match mirror.json")
    {
      try change($0.path("same.css")) { $0[0] ^= 1 }
    },
    Fault(
      testDescription: "a flipped byte of a manifest", path: "shop/configure.json",
      words: "its content doesn't match mirror.json"
    ) {
      try change($0.path("shop/configure.json")) { $0[$0.count - 4] ^= 1 }
    },
    Fault(
      testDescription: "a stale configure.json", path: "shop/configure.json", words: "it is version 2, not 3"
    ) {
      let old = try DurableFile.read($0.path("configure/2.json")) ?? []
      try DurableFile.write(old, to: $0.path("shop/configure.json"))
    },
    Fault(testDescription: "a stale version.json", path: "version.json", words: "it says version 2") {
      try DurableFile.write(Documents.nothingNew(ManifestVersion(2)), to: $0.path("version.json"))
    },
    Fault(
      testDescription: "a patch to something else", path: "patch/2-3.json",
      words: "its content doesn't match mirror.json"
    ) {
      let other = String(decoding: try DurableFile.read($0.path("patch/2-3.json")) ?? [], as: UTF8.self)
      try DurableFile.write(
        Array(other.replacing("run", with: "nur").replacing("app.2", with: "app.9").utf8),
        to: $0.path("patch/2-3.json"))
    },
  ]

  @Test("An intact mirror verifies, in its folder and over HTTP")
  func right() throws {
    let bench = try Bench()
    try bench.mirror()
    let server = bench.serve()
    for reader in [FolderReader(bench.www), WebReader(try BaseURL(server.url))] as [any MirrorReader] {
      let report = try Verification(reader).run()
      #expect(report.divergences.isEmpty)
      #expect(report.files > 15)
    }
  }

  @Test("Each fault is found in the folder and over HTTP, and repaired", arguments: faults)
  func found(_ fault: Fault) throws {
    let bench = try Bench()
    try bench.mirror()
    try fault.seed(bench)
    let server = bench.serve()
    for reader in [FolderReader(bench.www), WebReader(try BaseURL(server.url))] as [any MirrorReader] {
      let report = try Verification(reader).run()
      #expect(report.hasErrors)
      #expect(
        report.divergences.contains { $0.path.hasSuffix(fault.path) && $0.message.hasPrefix(fault.words) },
        "\(report.divergences)")
    }
    try bench.mirror { $0.repairs = true }
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test("A wrong content type over HTTP is a warning")
  func wrongType() throws {
    let bench = try Bench()
    try bench.mirror()
    let server = bench.serve(["same.css": "text/plain", "shop/configure.json": "text/html"])
    let report = try Verification(WebReader(try BaseURL(server.url))).run()
    #expect(report.divergences.count == 2 && !report.hasErrors)
    #expect(
      report.divergences.map(\.message).contains("it is served as text/plain, not as text/css;charset=UTF-8"))
  }

  @Test("Files that a host refuses are named one by one, and the others are verified")
  func refused() throws {
    let bench = try Bench()
    try bench.mirror { $0.zips = true }
    let hidden = ["bundle/3.zip", "app.2.js", "configure/2.json"]
    let server = bench.serve(refusing: hidden)
    let report = try Verification(WebReader(try BaseURL(server.url))).run()
    #expect(report.hasErrors && Set(report.divergences.map(\.message)) == ["the host answers 403"])
    for name in hidden { #expect(report.divergences.contains { $0.path.hasSuffix(name) }, "\(name)") }
    #expect(report.divergences.count == hidden.count, "\(report.divergences)")
  }

  @Test(
    "All files of a copy are readable for a web server; a repairing run fixes those that aren't",
    arguments: [false, true])
  func readable(repairs: Bool) throws {
    let bench = try Bench()
    func unreadable() throws -> [String] {
      try Bench.files(bench.www).keys.filter { try Kernel.status("\(bench.www)/\($0)")?.mode != 0o644 }
    }
    try bench.mirror { $0.zips = true }
    #expect(try unreadable() == [])
    for name in ["bundle/3.zip", "app.2.js", "configure/2.json", "shop/configure.json"] {
      try Kernel.setMode(bench.path(name), to: 0o640)
    }
    #expect(try unreadable().count == 4)
    try bench.mirror {
      $0.zips = true
      $0.repairs = repairs
    }
    #expect(try unreadable() == [])
  }

  @Test("A mirror whose last run is too long ago is reported as old")
  func old() throws {
    let bench = try Bench()
    try bench.mirror()
    var index = try MirrorIndex(parsing: DurableFile.read(bench.www + "/mirror.json") ?? [])
    index = MirrorIndex(
      origin: index.origin, defaultApp: index.defaultApp, at: index.at - 7_200_000, channels: index.channels,
      leaving: [:])
    try DurableFile.write(index.document, to: bench.www + "/mirror.json")
    #expect(try Verification(FolderReader(bench.www), maxAge: 8000).run().divergences.isEmpty)
    #expect(try Verification(FolderReader(bench.www), maxAge: 7000).run().hasErrors)
  }

  @Test(
    "A mirror that changes during verification is read again, and verification fails if it keeps changing")
  func changing() throws {
    let bench = try Bench()
    try bench.mirror()
    let changes = Locked(2)
    let changingReader = ChangingReader(reader: FolderReader(bench.www)) {
      changes.withLock { left in
        left -= 1
        return left >= 0
      }
    }
    #expect(try Verification(changingReader).run().divergences.isEmpty)
    #expect(throws: MirrorError.self) {
      try Verification(ChangingReader(reader: FolderReader(bench.www)) { true }).run()
    }
    #expect(throws: MirrorError.self) { try Verification(FolderReader(bench.folder)).run() }
  }
}

/// Answers mirror.json with a new time on each read while `changes` returns true.
private struct ChangingReader: MirrorReader {
  let reader: FolderReader
  let changes: @Sendable () -> Bool
  private static let counter = Locked<Int64>(0)

  var name: String { reader.name }
  var wrongType: Divergence.Severity? { nil }
  var threads: Int { 1 }

  init(reader: FolderReader, changes: @escaping @Sendable () -> Bool) {
    self.reader = reader
    self.changes = changes
  }

  func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    guard path == MirrorIndex.path, changes(), let bytes = try reader.read(path) else {
      return try reader.read(path)
    }
    let index = try MirrorIndex(parsing: bytes)
    let shift = Self.counter.withLock { counter in
      counter += 1
      return counter
    }
    return MirrorIndex(
      origin: index.origin, defaultApp: index.defaultApp, at: index.at + shift, channels: index.channels,
      leaving: index.leaving
    ).document
  }

  func facts(_ path: String) throws(MirrorError) -> FileFacts? { try reader.facts(path) }
  func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    try reader.local(path, at: target, size: size)
  }
}
