import Manifests
import Store
import System
import Testing
import Values

@testable import Mirror

@Suite struct IndexTests {
  @Test func roundTrips() throws {
    let file = MirrorIndex.File(sha256: .of([1]), size: 1)
    let channel = MirrorIndex.Channel(
      app: try AppName("shop"), appID: 3, channel: .online, publicURL: try BaseURL("https://cdn.test/x"),
      version: ManifestVersion(7), digest: .of([2]), versions: [ManifestVersion(6), ManifestVersion(7)],
      inputs: .of([3]),
      files: [("xcache/3/7/1/u/https%3A%2F%2Fa.test%2F", file), ("xcache/shop/version.json", file)])
    let index = MirrorIndex(
      origin: "abc", defaultApp: try AppName("shop"), at: 12,
      audit: AuditHead(row: 17, hash: .of([4])), channels: [channel], leaving: ["xcache/old": 4])
    let read = try MirrorIndex(parsing: index.document)
    #expect(read.document == index.document)
    #expect(read.channels[0].files.map(\.path) == channel.files.map(\.path))
    #expect(read.leaving == index.leaving && read.audit == index.audit)
    #expect(try JSONValue.parse(index.document).canonical == index.document)
  }

  @Test(arguments: ["../etc/passwd", "/etc/passwd", "a//b", "a/./b", "", "a/../../b"])
  func pathsStayBelowTheRoot(path: String) {
    #expect(!MirrorPath.isSafe(path))
  }
}

/// Extreme numbers in a mirror: monitoring, verifying, mirroring and restoring either work or report an error.
@Suite struct HostileIndexTests {
  private static let numbers = [
    "9223372036854775807", "-9223372036854775808", "9007199254740991", "-9007199254740991", "-1", "1e400",
  ]

  /// Updates mirror.json with a document's current digest and size.
  static func list(_ bench: Bench, _ name: String) throws {
    if name == MirrorIndex.path { return }
    var index = try bench.index
    let bytes = try DurableFile.read("\(bench.www)/\(name)") ?? []
    for channel in index.channels.indices {
      for file in index.channels[channel].files.indices where index.channels[channel].files[file].path == name
      {
        index.channels[channel].files[file].file = MirrorIndex.File(
          sha256: .of(bytes), size: Int64(bytes.count))
      }
    }
    try DurableFile.write(index.document, to: bench.www + "/" + MirrorIndex.path)
  }

  /// Replaces the first match of a pattern in a file of the mirror.
  private func replace(_ bench: Bench, _ name: String, _ pattern: Regex<Substring>, with text: String) throws
  {
    let path = "\(bench.www)/\(name)"
    let old = String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self)
    let new = old.replacing(pattern, with: text)
    #expect(new != old)
    try DurableFile.write(Array(new.utf8), to: path)
    try Self.list(bench, name)
  }

  /// Runs everything that reads a mirror, and ignores the results.
  private func readAll(_ bench: Bench) throws {
    let reader = FolderReader(bench.www)
    let watch = MirrorMonitor(reader, newest: { [] }, log: { _ in })
    watch.look()
    #expect(watch.prometheusText.contains("xcache_mirror_up"))
    _ = try? Verification(reader, maxAge: 60).run()
    let store = try Store(path: "\(bench.folder)/new-\(Clock.monotonicNanoseconds())")
    _ = try? Restoration(from: reader).restore(into: store)
    _ = try? bench.mirror { $0.prunes = true }
  }

  @Test(arguments: numbers)
  func creationTime(number: String) throws {
    let bench = try Bench()
    try bench.mirror()
    try replace(bench, "mirror.json", #/"at":[0-9]+/#, with: "\"at\":\(number)")
    try readAll(bench)
  }

  @Test(arguments: numbers)
  func sizes(number: String) throws {
    let bench = try Bench()
    try bench.mirror()
    try replace(bench, "mirror.json", #/"size":[0-9]+/#, with: "\"size\":\(number)")
    try readAll(bench)
  }

  @Test(arguments: numbers)
  func leavingFilesAndAudit(number: String) throws {
    let bench = try Bench()
    try bench.mirror()
    try replace(bench, "mirror.json", #/"leaving":\{\}/#, with: "\"leaving\":{\"xcache/1/1/1/x\":\(number)}")
    try replace(bench, "mirror.json", #/"audit":"[0-9]+:/#, with: "\"audit\":\"\(number):")
    try readAll(bench)
  }

  @Test(arguments: ["4503599627370497", "9007199254740991", "9223372036854775807"])
  func restoredVersionNumbersHaveSuccessors(number: String) throws {
    for (name, pattern, text) in [
      ("xcache/shop/prefetchConfig.json", #/"version":"[0-9]+"/#, "\"version\":\"\(number)\""),
      ("xcache/shop/policy.json", #/"version":"[0-9]+"/#, "\"version\":\"\(number)\""),
      ("mirror.json", #/"appID":1/#, "\"appID\":\(number)"),
      ("xcache/shop/release/3.json", #/"leastNext":[0-9]+/#, "\"leastNext\":\(number)"),
    ] {
      let bench = try Bench()
      try bench.mirror()
      try replace(bench, name, pattern, with: text)
      let store = try Store(path: "\(bench.folder)/new")
      _ = try? Restoration(from: FolderReader(bench.www)).restore(into: store)
      // Either it was refused, or the next release and documents have numbers that devices accept.
      guard (try? bench.shop(store)) != nil else { continue }
      let next = try bench.release("main", ["index.html": "<p>next"], into: store)
      #expect(next.version.number < 1 << 53 && ManifestVersion(text: next.version.text) != nil, "\(name)")
    }
  }
}
