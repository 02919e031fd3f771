import Manifests
import Synchronization
import System
import Testing
import TestSupport

@testable import Mirror

/// The behaviour of all destinations: a folder, a stand-in for S3 in memory, and, in `make test-s3`, the cluster of AWS_ENDPOINT_URL and
/// XCACHE_TEST_BUCKET.
@Suite struct DestinationTests {
  enum Kind: String, CaseIterable, Sendable {
    case folder, s3, cluster

    static var all: [Kind] {
      Environment.variables["XCACHE_TEST_BUCKET"] == nil ? [.folder, .s3] : [.folder, .s3, .cluster]
    }
  }

  /// A location for one test, and destinations for it.
  final class Place: Sendable {
    let kind: Kind
    private let folder: Scratch
    private let store: StandInS3?
    private let prefix: String
    private static let count = Atomic<Int>(0)

    init(_ kind: Kind) throws {
      self.kind = kind
      let number = Self.count.add(1, ordering: .relaxed).newValue
      prefix = "mirror-\(Environment.processID)-\(number)"
      folder = try Scratch()
      store = kind == .s3 ? StandInS3() : nil
    }

    deinit {
      if kind == .cluster, let destination = try? open(), let paths = try? destination.list() {
        try? destination.remove(paths)
      }
    }

    var scratch: String { folder.path }

    func open() throws -> any Destination {
      switch kind {
      case .folder: try FolderDestination(scratch + "/copy")
      case .s3: S3Destination(try #require(store).settings(prefix))
      case .cluster:
        S3Destination(
          try S3Settings(
            "s3://\(Environment.variables["XCACHE_TEST_BUCKET"] ?? "")/\(prefix)", endpoint: nil, region: nil,
            environment: Environment.variables))
      }
    }

    /// Changes a file's bytes without the destination.
    func damage(_ path: String, _ bytes: [UInt8]) throws {
      switch kind {
      case .folder: try DurableFile.write(bytes, to: "\(scratch)/copy/\(path)")
      case .s3: store?.put("\(prefix)/\(path)", bytes)
      case .cluster:
        let destination = try open()
        try destination.begin()
        try destination.write(bytes, as: path, DestinationTests.page)
        destination.end()
      }
    }

    /// The headers stored with an object; nil for a folder, whose web server sets them.
    func fields(_ path: String) -> [String: String]? { store?.object("\(prefix)/\(path)")?.fields }

    func fail(_ requests: Int) { store?.fail(requests) }
  }

  static let page = FileHead(type: "text/html", coding: nil, isImmutable: false)
  private static let script = FileHead(type: "text/javascript", coding: nil, isImmutable: true)
  /// Names as in mirrors: with escapes, spaces, and characters that XML and signatures escape.
  private static let paths = [
    "xcache/1/3/1/u/https%3A%2F%2Fm.example.com%2Fa.js", "xcache/1/3/1/u/a b&c<d>+é.js",
    "xcache/shop/configure.json",
    "xcache_test/shop/version.json", "xcache/shop/configure/1.json",
  ]

  private static func placement(
    _ path: String, _ bytes: [UInt8], sha256: SHA256? = nil, onLoss: (@Sendable () -> Void)? = nil
  ) -> Placement {
    Placement(
      path: path, size: Int64(bytes.count), sha256: sha256 ?? .of(bytes), head: script, onLoss: onLoss
    ) { (target) throws(MirrorError) in
      try MirrorError.disk { () throws(SystemError) in try DurableFile.write(bytes, to: target) }
      return LocalFile(path: target, isTemporary: true)
    }
  }

  /// Begins a run, executes `body` and ends the run.
  private static func run<Result>(
    _ destination: any Destination, _ body: (any Destination) throws -> Result
  ) throws -> Result {
    try destination.begin()
    defer { destination.end() }
    return try body(destination)
  }

  private static func put(_ files: [Placement], in destination: any Destination) throws -> [String: SHA256] {
    let written = Locked<[String: SHA256]>([:])
    try destination.put(files) { file, found throws(MirrorError) in
      written.withLock { $0[file.path] = found.sha256 }
    }
    return written.withLock { $0 }
  }

  @Test(arguments: Kind.all) func filesRoundTrip(_ kind: Kind) throws {
    let place = try Place(kind)
    let contents = Dictionary(
      uniqueKeysWithValues: Self.paths.enumerated().map { ($1, Array("\($1) \($0)".utf8)) })
    try Self.run(place.open()) { destination in
      #expect(try destination.sizes(of: Self.paths) == Self.paths.map { _ in nil })
      let written = try Self.put(contents.map { Self.placement($0, $1) }, in: destination)
      #expect(written == contents.mapValues { SHA256.of($0) })
      try destination.sync()
      #expect(try destination.sizes(of: Self.paths) == Self.paths.map { Int64(contents[$0]?.count ?? -1) })
    }
    // Another run, without the state of the first.
    let later = try place.open()
    #expect(try later.list().sorted() == Self.paths.sorted())
    #expect(
      try later.files(at: Self.paths).map { $0?.sha256 } == Self.paths.map { contents[$0].map { .of($0) } })
    for path in Self.paths { #expect(try later.read(path) == contents[path]) }
    #expect(try later.read("xcache/shop/none.json") == nil)
    #expect(try later.files(at: ["xcache/shop/none.json"]) == [nil])
    #expect(try later.sizes(of: ["xcache/shop/none.json", Self.paths[0]]).first == .some(nil))
  }

  @Test(arguments: Kind.all) func emptyAndLargeFiles(_ kind: Kind) throws {
    let place = try Place(kind)
    // Longer than any buffer on its way.
    let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 11) }
    try Self.run(place.open()) { destination in
      let files = [Self.placement("xcache/1/empty", []), Self.placement("xcache/1/large", large)]
      #expect(try Self.put(files, in: destination).count == 2)
      try destination.sync()
    }
    let later = try place.open()
    #expect(try later.read("xcache/1/empty") == [])
    #expect(try later.read("xcache/1/large") == large)
    #expect(try later.sizes(of: ["xcache/1/empty", "xcache/1/large"]) == [0, 3_000_000])
  }

  /// Bytes with another digest than promised are never stored under their name.
  @Test(arguments: Kind.all) func wrongBytesAreRefused(_ kind: Kind) throws {
    let place = try Place(kind)
    try Self.run(place.open()) { destination in
      let wrong = Self.placement("xcache/1/wrong", Array("wrong".utf8), sha256: .of(Array("right".utf8)))
      #expect(throws: MirrorError.self) { try Self.put([wrong], in: destination) }
    }
    #expect(try place.open().read("xcache/1/wrong") == nil)
  }

  /// A file that the origin lost is reported and skipped; the others are stored.
  @Test(arguments: Kind.all) func lostFilesAreSkipped(_ kind: Kind) throws {
    let place = try Place(kind)
    let lost = Atomic<Int>(0)
    try Self.run(place.open()) { destination in
      let gone = Placement(
        path: "xcache/1/gone", size: 3, sha256: .of(Array("abc".utf8)), head: Self.script,
        onLoss: { lost.add(1, ordering: .relaxed) }
      ) { (_) throws(MirrorError) in throw .lost(path: "xcache/1/gone") }
      let there = Self.placement("xcache/1/there", Array("there".utf8))
      #expect(try Self.put([gone, there], in: destination).keys.sorted() == ["xcache/1/there"])
      try destination.sync()
    }
    #expect(lost.load(ordering: .relaxed) == 1)
    #expect(try place.open().list() == ["xcache/1/there"])
  }

  /// A document is visible after `show` at the latest, always complete, and a later one replaces it.
  @Test(arguments: Kind.all) func documentsAreReplaced(_ kind: Kind) throws {
    let place = try Place(kind)
    try Self.run(place.open()) { destination in
      for text in ["one", "two, and longer", "3"] {
        try destination.write(Array(text.utf8), as: "xcache/shop/configure.json", Self.page)
        try destination.write(Array("v\(text)".utf8), as: "xcache/shop/version.json", Self.page)
        try destination.sync()
        try destination.show()
        try destination.sync()
        let reader = try place.open()
        #expect(try reader.read("xcache/shop/configure.json") == Array(text.utf8))
        #expect(try reader.read("xcache/shop/version.json") == Array("v\(text)".utf8))
      }
    }
  }

  @Test(arguments: Kind.all) func removedFilesAreGone(_ kind: Kind) throws {
    let place = try Place(kind)
    try Self.run(place.open()) { destination in
      _ = try Self.put(Self.paths.map { Self.placement($0, Array($0.utf8)) }, in: destination)
      try destination.sync()
      // Removing a missing file isn't an error.
      try destination.remove([Self.paths[0], Self.paths[1], "xcache/1/none"])
    }
    #expect(try place.open().list().sorted() == Self.paths.dropFirst(2).sorted())
  }

  /// Only files in the folders of channels are listed.
  @Test(arguments: Kind.all) func otherFilesAreNotListed(_ kind: Kind) throws {
    let place = try Place(kind)
    try Self.run(place.open()) { destination in
      _ = try Self.put([Self.placement("xcache/1/own", [1])], in: destination)
      try destination.write([2], as: "mirror.json", Self.page)
      try destination.show()
      try destination.sync()
    }
    #expect(try place.open().list() == ["xcache/1/own"])
  }

  @Test(arguments: Kind.all) func damageIsDetectedIfFilesAreReadBack(_ kind: Kind) throws {
    let place = try Place(kind)
    let path = "xcache/1/file"
    try Self.run(place.open()) { destination in
      _ = try Self.put([Self.placement(path, Array("right".utf8))], in: destination)
      try destination.sync()
    }
    try place.damage(path, Array("wrong".utf8))
    let later = try place.open()
    #expect(try later.sizes(of: [path]) == [5])
    #expect(try later.files(at: [path]).first??.sha256 == .of(Array("wrong".utf8)))
    // A run that repairs writes it again.
    try Self.run(place.open()) { _ = try Self.put([Self.placement(path, Array("right".utf8))], in: $0) }
    #expect(try place.open().read(path) == Array("right".utf8))
  }

  /// Concurrent runs would remove each other's files.
  @Test(arguments: Kind.all) func concurrentRunIsRefused(_ kind: Kind) throws {
    let place = try Place(kind)
    let first = try place.open()
    try first.begin()
    let second = try place.open()
    let error = #expect(throws: MirrorError.self) { try second.begin() }
    guard case .locked? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    first.end()
    try second.begin()
    second.end()
  }

  @Test func objectsHaveTheirHeaders() throws {
    let place = try Place(.s3)
    try Self.run(place.open()) { destination in
      _ = try Self.put([Self.placement("xcache/1/a.js", [1])], in: destination)
      try destination.write([2], as: "xcache/shop/configure.json", Self.page)
    }
    #expect(
      place.fields("xcache/1/a.js") == [
        "content-type": "text/javascript", "cache-control": "public, max-age=31536000, immutable",
      ])
    #expect(
      place.fields("xcache/shop/configure.json") == [
        "content-type": "text/html", "cache-control": "no-cache",
      ])
  }

  /// A request that a store answers with 503 is retried.
  @Test func busyStoreIsRetried() throws {
    let place = try Place(.s3)
    try Self.run(place.open()) { destination in
      place.fail(2)
      try destination.write([2], as: "xcache/shop/configure.json", Self.page)
    }
    #expect(try place.open().read("xcache/shop/configure.json") == [2])
  }
}
