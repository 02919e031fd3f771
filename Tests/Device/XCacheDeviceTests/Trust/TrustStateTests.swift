import DeviceTestSupport
import Manifests
import System
import Testing
import Trust
import Values

@testable import XCacheDevice

/// Roots that follow one another, and what a device stores: docs/protocol.md §14.
@Suite struct TrustStateTests {
  let world: TrustBench

  init() throws { world = try TrustBench() }

  private func file(_ name: String = "device") -> String { "\(world.bench.scratch.path)/\(name)/trust.json" }

  // MARK: Roots

  @Test func rootsAreAskedForOneByOne() throws {
    let device = try world.holder()
    world.serve(try world.root(2))
    world.serve(try world.root(3, roots: [world.newKey], by: [world.spareKey, world.newKey]))
    world.serve(try world.root(4, roots: [world.newKey], publishers: [world.thief], by: [world.newKey]))
    // Also where nothing is new.
    try world.offer(world.first, root: 4)
    _ = try device.update(force: true)
    #expect(world.origin.takeLog().filter { $0.contains("/root/") } == (2...4).map { world.rootURL($0) })
    _ = try device.update(force: true)
    try world.offer(world.first, root: 1)
    _ = try device.update(force: true)
    #expect(!world.origin.takeLog().contains { $0.contains("/root/") })
    // They outlive the process; what the former publisher signed doesn't count any more, also where it is held.
    device.close()
    let next = try world.device()
    try world.offer(world.second, root: 4)
    world.refuse(next, .releaseKey)
    try world.offer(
      world.second, root: 4, statements: world.statements(world.second, by: [world.thief]))
    try world.take(next, world.second)
  }

  @Test func wrongRoots() throws {
    let device = try world.holder()
    let roots: [(TrustFailure, Signed<TrustRoot>)] = try [
      (.rootNumber, world.root(3)), (.rootNumber, world.root(1)), (.rootOldKeys, world.root(2, by: [])),
      (.rootOldKeys, world.root(2, by: [world.thief])),
      (.rootOldKeys, world.root(2, by: [world.publisher, world.headKey])),
      (.rootOldKeys, world.root(2, roots: [world.newKey], by: [world.newKey])),
      (.rootNewKeys, world.root(2, roots: [world.newKey])),
      (.rootNewKeys, world.root(2, threshold: 2)),
      (.rootOldKeys, world.root(2, isOff: true, by: [world.thief])),
    ]
    try world.offer(world.second, root: 2)
    for (check, root) in roots {
      world.serve(root, as: 2)
      #expect(world.refuse(device, check).count { $0 == world.rootURL(2) } == 1)
    }
    #expect(world.reports(device) == ["trust-root 2"])
    // A root that is skipped, and one that can't be had.
    world.serve(try world.root(2))
    try world.offer(world.second, root: 3)
    world.refuse(device, .rootMissing)
    try world.offer(world.second, root: 2)
    try world.take(device, world.second)
  }

  /// Of a root, or a head, no more is read than an envelope may have.
  @Test func documentsWithoutAnEnd() throws {
    let device = try world.holder()
    let spaces = [UInt8](repeating: UInt8(ascii: " "), count: 4 << 20)
    world.origin.serve(try world.root(2).envelope.bytes + spaces, at: world.rootURL(2))
    let read = Locked(0)
    world.origin.setPiece(1024)
    world.origin.eachPiece { url in
      if url.contains("/root/") || url.contains("head.json") { read.withLock { $0 += 1024 } }
    }
    try world.offer(world.second, root: 2)
    world.refuse(device, .rootForm)
    #expect(read.withLock { $0 } <= Envelope.limit + 2048)
    // Exactly so many are an envelope's.
    let root = try world.root(2).envelope.bytes
    world.origin.serve(root + spaces.prefix(Envelope.limit - root.count), at: world.rootURL(2))
    try world.take(device, world.second)

    read.withLock { $0 = 0 }
    world.bench.clock.advance(seconds: 86_500)
    world.origin.serve(
      try world.head(world.second, at: world.start + 5000).envelope.bytes + spaces, at: world.headURL)
    _ = try device.update(force: true)
    #expect(read.withLock { $0 } <= Envelope.limit + 2048)
    // Once for each version.
    #expect(world.reports(device) == ["trust-root 2"])
  }

  @Test func anotherRootOfTheNextBuild() throws {
    let device = try world.holder()
    world.serve(try world.root(2))
    try world.offer(world.first, root: 2)
    _ = try device.update(force: true)
    device.close()
    // Its number is lower, and its keys are others.
    let other = try world.root(roots: [world.newKey], heads: [world.thief], by: [world.newKey])
    let next = try world.device(root: other)
    try world.offer(world.second)
    world.refuse(next, .headKey)
    try world.offer(world.second, head: world.head(world.second, by: [world.thief]))
    try world.take(next, world.second)
  }

  @Test func wayOut() throws {
    let device = try world.holder()
    world.serve(try world.root(2, heads: [], isOff: true))
    let plain = try TrustBench.release(2, [TrustBench.page: (nil, "plain")], at: world.origin)
    try world.offer(plain, root: 2, trust: nil)
    try world.take(device, plain)
    _ = try device.update(force: true)
    #expect(world.origin.takeLog().polls.bare == 0)
    // And on again.
    world.serve(try world.root(3))
    try world.offer(world.third, root: 3, trust: nil)
    world.refuse(device, .headMissing)
    try world.offer(world.third, root: 3)
    try world.take(device, world.third)
  }

  // MARK: What is stored

  @Test(arguments: ["", "{", "{}", "x", nil]) func damagedState(_ text: String?) throws {
    var device: Device? = try world.holder()
    world.serve(try world.root(2))
    try world.offer(world.first, root: 2)
    _ = try device?.update(force: true)
    let good = try #require(try DurableFile.read(file()))
    #expect(try JSONValue.parse(good).canonical == good)
    device = nil
    if let text {
      try DurableFile.write(text == "x" ? Array(good.dropLast()) + bytes(" }") : bytes(text), to: file())
    } else {
      try Kernel.remove(file())
      try Kernel.makeFolder(file())
    }
    let next = try world.device()
    // Pages are answered from what is held, which doesn't count as checked.
    #expect(try next.resource(for: TrustBench.page)?.read() == bytes("one"))
    _ = world.origin.takeLog()
    #expect(try next.update(force: true).kind == .nothing)
    let log = world.origin.takeLog()
    #expect(log.polls == (0, 1) && log.contains(world.rootURL(2)))
    #expect(!log.contains { $0.hasPrefix("https://cdn.test/") })
    // Now it does.
    try world.offer(world.second, root: 2, statements: [world.statement(world.second)])
    try world.take(next, world.second)
    #expect(world.origin.takeLog().polls == (1, 0))
  }

  /// A manifest that was taken before the app had a root isn't taken for checked.
  @Test func rootOfALaterBuild() throws {
    try world.offer(world.first)
    var device: Device? = try world.bench.device()
    _ = try device?.update(force: true)
    device = nil
    let next = try world.device()
    let evil = try TrustBench.release(1, [TrustBench.page: ("home", "evil")], at: world.origin)
    try world.offer(evil, statements: world.statements(world.first))
    #expect(world.refuse(next, .releaseContent).polls == (0, 1))
    try world.offer(world.second)
    try world.take(next, world.second)
    #expect(world.origin.takeLog().polls == (0, 1))
  }

  /// Whenever a device ends, the next process has a manifest with its statements.
  @Test func crashesAtAnyStep() throws {
    var versions: Set<String> = []
    for steps in 0... {
      let name = "device-\(steps)"
      let limit = ChangeLimit(.stopped)
      try world.offer(world.first)
      var device: Device? = try world.device(
        name,
        willChange: { () throws(DeviceError) in try limit.check() })
      _ = try device?.update(force: true)
      try world.offer(world.second, statements: [world.statement(world.second)])
      limit.set(steps)
      let isDone = (try? device?.update(force: true)) != nil
      device = nil
      let next = try world.device(name)
      versions.insert(next.version)
      try world.offer(world.third)
      _ = world.origin.takeLog()
      try world.take(next, world.third)
      // It knows the statements of what it holds, and so isn't in need of a whole manifest.
      #expect(world.origin.takeLog().polls == (1, 0), "after \(steps) steps, at \(next.version)")
      if isDone { break }
      #expect(steps < 200)
    }
    #expect(versions == ["1", "2"])
  }

  /// The file is written before the index: what allows a manifest is on the disk when it is in force.
  @Test func statementsComeBeforeTheSwitch() throws {
    let device = try world.holder()
    device.close()
    let path = file()
    let index = "\(world.bench.scratch.path)/device/index.json"
    let seen = Locked<[(trust: Bool, index: Bool)]>([])
    let digest = #""digest":"\#(world.second.digest.hex)","#
    let next = try world.device(willChange: { () throws(DeviceError) in
      let trust = (try? DurableFile.read(path)) ?? [], held = (try? DurableFile.read(index)) ?? []
      seen.withLock {
        $0.append((Self.contains(trust, digest + #""proven""#), Self.contains(held, digest + #""format""#)))
      }
    })
    try world.offer(world.second)
    try world.take(next, world.second)
    let states = seen.withLock { $0 }
    #expect(states.contains { $0.trust && !$0.index } && !states.contains { $0.index && !$0.trust })
  }

  private static func contains(_ text: [UInt8], _ part: String) -> Bool {
    String(decoding: text, as: UTF8.self).contains(part)
  }

  /// Of a full disk nothing comes.
  @Test func stateThatCannotBeWritten() throws {
    let isFull = Locked(false)
    try world.offer(world.first)
    let device = try world.device(willChange: { () throws(DeviceError) in
      if isFull.withLock({ $0 }) { throw .file(path: "", call: "write", code: 28, reason: "full") }
    })
    try world.take(device, world.first)
    isFull.withLock { $0 = true }
    world.serve(try world.root(2, publishers: [world.newKey]))
    try world.offer(world.first, root: 2)
    _ = try? device.update(force: true)
    #expect(try #require(device.trust).root.number == .first)
    isFull.withLock { $0 = false }
    _ = try device.update(force: true)
    #expect(try #require(device.trust).root.number == RootNumber(2))
  }

  /// A root that comes while an update is at its downloads counts for it.
  @Test func rootDuringAnUpdate() throws {
    let device = try world.holder()
    try world.offer(world.second)
    let isFirst = Locked(true)
    world.serve(try world.root(2, publishers: [world.newKey]))
    let world = world
    world.origin.eachPiece { url in
      let isDue = isFirst.withLock { first in
        defer { if url.hasPrefix("https://cdn.test/") { first = false } }
        return first && url.hasPrefix("https://cdn.test/")
      }
      guard isDue else { return }
      world.bench.clock.advance(seconds: 60)
      try? world.offer(world.first, root: 2)
      try? device.pollDuringUpdate(until: StopSignal())
    }
    #expect { try device.update(force: true) } throws: {
      if case .untrusted(_, "2", "release-key")? = $0 as? DeviceError { true } else { false }
    }
    #expect(device.version == "1")
  }
}
