import DeviceTestSupport
import Glibc
import System
import Testing
import TestSupport

@testable import XCacheDevice

private let page = "https://m.test/p"
private let script = "https://m.test/a.js"

/// Other things in the place of the device's files: updates must not fail for ever because of them.
@Suite struct ObstacleTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private var folder: String { "\(bench.scratch.path)/device" }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("one"), script: bytes("let one")])
    origin.serve(
      bytes(#"{"code":200,"data":{"version":"7","intercept":true,"bypass":[],"scripts":[]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    origin.say(#","policy":"7""#)
  }

  /// What is in the place of a file.
  enum Kind: String, CaseIterable, Sendable {
    case emptyFolder, folder
    /// A link to itself, which can't be opened, like a file without permissions for users other than root.
    case unreadable
    /// Opening it for reading blocks until it has a writer.
    case fifo
  }

  func put(_ kind: Kind, at path: String) throws {
    Scratch.remove(path)
    try? Kernel.remove(path)
    switch kind {
    case .emptyFolder: try Kernel.makeFolder(path)
    case .folder: try Scratch.write("x", to: "\(path)/deep/x")
    case .unreadable: #expect(symlink(path, path) == 0)
    case .fifo: #expect(mkfifo(path, 0o644) == 0)
    }
  }

  @Test(
    arguments: [
      "index.json", "poll.json", "policy.json", "rollout.json", "uses.json", "backlog.json", "lock",
    ], Kind.allCases)
  func obstaclesInPlaceOfANote(name: String, kind: Kind) throws {
    // A folder whose lock is a link isn't used.
    if name == "lock", kind == .unreadable { return }
    do { _ = try bench.device().update() }
    let expected = try bench.state()
    try put(kind, at: "\(folder)/\(name)")
    do {
      let device = try bench.device()
      _ = try device.update(force: true)
      #expect(device.version == "1" && device.runtimePolicy.version == "7")
      #expect(try device.page(for: page)?.read() == bytes("one"))
      #expect(try bench.state() == expected)
    }
    let device = try bench.device()
    #expect(device.version == "1" && !device.wasDamaged && device.runtimePolicy.version == "7")
  }

  @Test(arguments: ["files", "staging", "aside"]) func filesInPlaceOfAFolder(name: String) throws {
    do { _ = try bench.device().update() }
    Scratch.remove("\(folder)/\(name)")
    try Scratch.write("x", to: "\(folder)/\(name)")
    let device = try bench.device()
    #expect(try device.page(for: page)?.read() == bytes("one"))
    try origin.publish([page: bytes("two"), script: bytes("let one")])
    #expect(try device.update(force: true).to == "2")
    #expect(try device.page(for: page)?.read() == bytes("two"))
    #expect(try device.resource(for: script)?.read() == bytes("let one"))
  }

  /// The page's file, and where the next update stages the new one and sets the old one aside.
  enum Place: String, CaseIterable, Sendable {
    case file, staged, aside
  }

  func path(_ place: Place) throws -> String {
    let next = SHA256.of(bytes("two")).hex
    switch place {
    case .file:
      let names = try Folder.textNames("\(folder)/files")
      return "\(folder)/files/\(try #require(names.first { $0.hasSuffix("p") }))"
    case .staged: return "\(folder)/staging/\(next)"
    case .aside: return "\(folder)/aside/\(SHA256.of(bytes("one")).hex)"
    }
  }

  @Test(arguments: Place.allCases, Kind.allCases) func obstaclesInPlaceOfAFile(place: Place, kind: Kind)
    throws
  {
    for isOpen in [true, false] {
      let device = try bench.device()
      _ = try device.update(force: true)
      let before = try bench.state()
      _ = try device.update(force: true)
      try put(kind, at: path(place))
      if !isOpen { device.close() }
      let current = isOpen ? device : try bench.device()
      #expect(try current.page(for: page)?.read() == bytes("one"))
      #expect(try bench.state() == before)
      try put(kind, at: path(place))
      try origin.publish([page: bytes("two"), script: bytes("let one")])
      #expect(try current.update(force: true).to == "\(isOpen ? 2 : 4)")
      #expect(try current.page(for: page)?.read() == bytes("two"))
      #expect(try bench.state() == bench.fresh())
      try origin.publish([page: bytes("one"), script: bytes("let one")])
      _ = try current.update(force: true)
      current.close()
    }
  }

  /// A file that can't be read counts as damaged: another URL with the same bytes isn't copied from it.
  @Test(arguments: Kind.allCases) func unreadableSourcesAreNotCopied(kind: Kind) throws {
    let device = try bench.device()
    _ = try device.update()
    try put(kind, at: path(.file))
    try origin.publish([page: bytes("one"), script: bytes("let one"), "https://m.test/q": bytes("one")])
    #expect(try device.update(force: true).to == "2")
    #expect(try device.resource(for: "https://m.test/q")?.read() == bytes("one"))
    #expect(try device.page(for: page)?.read() == bytes("one"))
  }

  /// In place of the bytes of an interrupted download.
  @Test(arguments: Kind.allCases) func obstaclesInPlaceOfAPart(kind: Kind) throws {
    let large = [UInt8](repeating: 0x61, count: 100_000)
    let device = try bench.device()
    try put(kind, at: device.folder.half(SHA256.of(large)))
    try origin.publish([page: large])
    #expect(try device.update().to == "2")
    #expect(try device.page(for: page)?.read() == large)
  }

  // MARK: Files of another user

  /// What another user, here root, left in the device's folder.
  enum Foreign: String, CaseIterable, Sendable {
    case closedFolder, readOnlyFolder, rootsFolder, fullNote, fullFile, rootsFile
  }

  private static let other: UInt32 = 65_534

  /// Runs `body` as the folder's owner, who isn't root. File permissions depend on the thread's own id (setfsuid(2)).
  func asOther(_ body: @escaping @Sendable () throws -> Void) throws {
    let outcome = Locked<(any Error)?>(nil)
    try OSThread(name: "another user") {
      _ = setfsuid(Self.other)
      do { try body() } catch { outcome.withLock { $0 = error } }
    }.join()
    if let error = outcome.withLock({ $0 }) { throw error }
  }

  func all(_ path: String) throws -> [String] {
    guard try Kernel.status(path, followLinks: false)?.kind == .folder else { return [path] }
    return try [path] + Folder.textNames(path).flatMap { try all("\(path)/\($0)") }
  }

  func put(_ foreign: Foreign, in name: String) throws {
    let path = "\(folder)/\(name)"
    switch foreign {
    case .closedFolder: try Kernel.setMode(path, to: 0)
    case .readOnlyFolder: try Kernel.setMode(path, to: 0o555)
    case .rootsFolder:
      try Kernel.setMode(path, to: 0o700)
      #expect(lchown(path, 0, 0) == 0)
    case .fullNote: try roots("\(folder)/index.json")
    case .fullFile: try roots(self.path(.file))
    case .rootsFile:
      let file = try self.path(.file)
      try Kernel.setMode(file, to: 0o600)
      #expect(lchown(file, 0, 0) == 0)
    }
  }

  /// Puts a folder that belongs to root, with content, at `path`.
  func roots(_ path: String) throws {
    try put(.folder, at: path)
    try Kernel.setMode(path, to: 0o700)
  }

  @Test(.enabled(if: geteuid() == 0), arguments: ["files", "staging", "aside"], Foreign.allCases)
  func filesOfAnotherUserAreReplaced(name: String, foreign: Foreign) throws {
    do { _ = try bench.device().update() }
    for path in try all(bench.scratch.path) { #expect(lchown(path, Self.other, Self.other) == 0) }
    try put(foreign, in: name)
    try asOther {
      let device = try bench.device()
      _ = try device.update(force: true)
      #expect(try device.page(for: page)?.read() == bytes("one"))
      try origin.publish([page: bytes("two"), script: bytes("let one")])
      #expect(try device.update(force: true).to == "2")
      #expect(try device.page(for: page)?.read() == bytes("two"))
    }
  }
}

extension ObstacleTests {
  /// The state of the device's lock.
  enum Lock: String, CaseIterable, Sendable {
    case closed, roots, rootsClosed, rootsHeld
  }

  /// A lock without permissions is opened, root's is locked as it is, and one that can't be opened is named in the
  /// error. The device never waits.
  @Test(.enabled(if: geteuid() == 0), arguments: Lock.allCases) func locksOfAnotherUser(lock: Lock) throws {
    do { _ = try bench.device().update() }
    for path in try all(bench.scratch.path) { #expect(lchown(path, Self.other, Self.other) == 0) }
    let path = "\(folder)/lock"
    if lock != .closed { #expect(lchown(path, 0, 0) == 0) }
    try Kernel.setMode(path, to: lock == .closed ? 0 : lock == .rootsClosed ? 0o600 : 0o644)
    let held = lock == .rootsHeld ? try FileLock.take(path) : nil
    try asOther {
      switch lock {
      case .closed, .roots:
        let device = try bench.device()
        _ = try device.update(force: true)
        #expect(try device.page(for: page)?.read() == bytes("one"))
        #expect(throws: DeviceError.inUse(folder: folder, process: getpid())) { try bench.device() }
      case .rootsHeld:
        #expect(throws: DeviceError.inUse(folder: folder, process: getpid())) { try bench.device() }
      case .rootsClosed:
        let error = #expect(throws: DeviceError.self) { try bench.device() }
        #expect(error?.description.contains("\(path): It belongs to another user") == true)
      }
    }
    #expect(held == nil || lock == .rootsHeld)
  }

  private func renamed() throws -> [String] {
    try all(folder).filter { $0.hasSuffix(".old") }
  }

  /// What was renamed is removed at the next start that has permission; until then it stays, and nothing fails.
  @Test(.enabled(if: geteuid() == 0)) func renamedObstaclesAreRemovedOncePossible() throws {
    do { _ = try bench.device().update() }
    for path in try all(bench.scratch.path) { #expect(lchown(path, Self.other, Self.other) == 0) }
    try roots("\(folder)/index.json")
    try roots(path(.file))
    try asOther {
      for _ in 0..<2 {
        let device = try bench.device()
        _ = try device.update(force: true)
        #expect(try device.page(for: page)?.read() == bytes("one"))
      }
    }
    let left = try renamed()
    #expect(left.count == 2)
    for path in try left.flatMap(all) { #expect(lchown(path, Self.other, Self.other) == 0) }
    try asOther {
      let device = try bench.device()
      #expect(try device.page(for: page)?.read() == bytes("one"))
    }
    #expect(try renamed() == [])
  }

  /// The device removes neither a link's target, nor files, nor anything with another name.
  @Test func nothingElseIsRemoved() throws {
    do { _ = try bench.device().update() }
    let elsewhere = "\(bench.scratch.path)/elsewhere"
    try Scratch.write("x", to: "\(elsewhere)/x")
    #expect(symlink(elsewhere, "\(folder)/0123456789abcdef.old") == 0)
    try Kernel.makeFolder("\(folder)/fedcba9876543210.old")
    #expect(symlink(elsewhere, "\(folder)/fedcba9876543210.old/link") == 0)
    try Scratch.write("x", to: "\(folder)/staging/0123456789abcdef.old")
    try Scratch.write("x", to: "\(folder)/mine.old/x")
    let device = try bench.device()
    #expect(try device.page(for: page)?.read() == bytes("one"))
    let left = ["0123456789abcdef.old", "mine.old", "staging/0123456789abcdef.old"]
    #expect(try renamed() == left.map { "\(folder)/\($0)" })
    #expect(try Folder.textNames(elsewhere) == ["x"])
  }

  /// A folder of its own without permissions is removed, not kept under another name.
  @Test(.enabled(if: geteuid() == 0)) func ownFoldersWithoutPermissionsAreRemoved() throws {
    do { _ = try bench.device().update() }
    try put(.folder, at: "\(folder)/index.json")
    for path in try all(bench.scratch.path) { #expect(lchown(path, Self.other, Self.other) == 0) }
    try Kernel.setMode("\(folder)/index.json/deep", to: 0)
    try Kernel.setMode("\(folder)/index.json", to: 0)
    try asOther {
      let device = try bench.device()
      _ = try device.update(force: true)
      #expect(try device.page(for: page)?.read() == bytes("one"))
    }
    #expect(try renamed() == [])
  }
}

@_silgen_name("setfsuid") private func setfsuid(_ user: UInt32) -> Int32
