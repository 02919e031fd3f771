import Foundation
import Testing
import WebKitTestSupport

@testable import XCacheRuntime
@testable import XCacheWebKit

extension WebKitTests {
  /// Damaged files, policy changes and clock jumps while pages are open.
  @Suite(.serialized)
  @WebActor
  struct DamageAttackTests: Attacks {
    /// A kind of damage to a file.
    enum Damage: String, CaseIterable {
      case bit, cut, longer, empty, gone, folder, fifo, another, dangling, endless, loop, bytes, socket
    }

    private func damage(_ file: URL, _ how: Damage, _ dice: inout SplitMix) throws {
      let path = file.path
      guard var bytes = try? Data(contentsOf: file) else { return }
      func replace(by target: String) throws {
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
      }
      switch how {
      case .bit:
        if bytes.isEmpty { return }
        bytes[dice.below(bytes.count)] ^= 1 << UInt8(dice.below(8))
        try bytes.write(to: file)
      case .cut: try bytes.prefix(dice.below(max(1, bytes.count))).write(to: file)
      case .longer: try (bytes + Data([1, 2, 3])).write(to: file)
      case .empty: try Data().write(to: file)
      case .bytes: try Data(repeating: 0x58, count: bytes.count).write(to: file)
      case .gone: try FileManager.default.removeItem(at: file)
      case .folder:
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(atPath: path + "/x", withIntermediateDirectories: true)
      case .fifo:
        try FileManager.default.removeItem(at: file)
        mkfifo(path, 0o644)
      case .socket:
        try FileManager.default.removeItem(at: file)
        mknod(path, S_IFSOCK | 0o644, 0)
      case .another:
        let other = file.deletingLastPathComponent()
        let names = Processes.names(in: other.path).sorted()
        try replace(by: other.path + "/" + names[dice.below(names.count)])
      case .dangling: try replace(by: "/nowhere/\(dice.below(10))")
      case .endless: try replace(by: "/dev/zero")
      case .loop: try replace(by: path)
      }
    }

    /// Open and newly loaded pages have the right content, whatever its source.
    @Test func damagedFilesAreNeverServed() async throws {
      var dice = SplitMix(seed: 43)
      let sites = try Sites()
      try sites.tell("release 1")
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/v/page0.html"))
      var (damaged, version) = (0, 1)
      for round in 1...4 * Self.times {
        let files = try app.files().filter { $0.pathComponents.contains("files") || dice.one(in: 8) }.sorted {
          $0.path < $1.path
        }
        for file in files where dice.one(in: 4) {
          if file.lastPathComponent == "lock" { continue }
          let how = Damage.allCases[dice.below(Damage.allCases.count)]
          try damage(file, how, &dice)
          damaged += 1
        }
        if dice.one(in: 3) { app.runtime.memoryIsShort() }
        // The open page, and a newly loaded one.
        #expect(
          await end("look \(round)") { _ = try await isOfOneVersion(page, "round \(round), open") } == "done"
        )
        #expect(
          await end("load \(round)") { try await page.load(sites.url("/v/page\(round % 4).html")) } == "done"
        )
        #expect(try await isOfOneVersion(page, "round \(round), again") == version)
        if dice.one(in: 4) {
          version += 1
          try sites.tell("release \(version)")
          _ = await app.runtime.update(force: true)
          try await page.load(sites.url("/v/page\(round % 4).html"))
          #expect(try await isOfOneVersion(page, "round \(round), updated") == version)
        }
      }
      Self.note("\(damaged) files damaged")
      // The device has a complete version again.
      version += 1
      try sites.tell("release \(version)")
      _ = await app.runtime.update(force: true)
      _ = try sites.log()
      try sites.tell("stop")
      try await page.load(sites.url("/v/page1.html"))
      #expect(try await isOfOneVersion(page, "at the end") == version)
      await app.end()
    }

    /// Every load completes with intact files, and the last one with files of one version.
    @Test func policyChangesWhilePagesLoad() async throws {
      var dice = SplitMix(seed: 47)
      let sites = try Sites()
      try sites.tell("release 1")
      try sites.tell("release 2")
      let app = try await App(sites)
      try app.trustSites()
      var (version, loads, isOver) = (2, [String: Int](), false)
      let loading = (0..<2).map { number in
        Task { @WebActor in
          let page = try WebPage(app.host)
          while !isOver {
            let end = await end("load \(number)") { try await page.load(sites.url("/v/page\(number).html")) }
            loads[end, default: 0] += 1
            let seen = try await look(at: page)
            #expect(seen.wrong == [])
          }
        }
      }
      let pattern = "https://m.example.com:\(sites.told.port)/v/page0*"
      var isKilled = false, isBypassed = false
      for _ in 1...4 * Self.times {
        switch dice.below(4) {
        case 0:
          isKilled.toggle()
          try sites.tell("run policy \(isKilled ? "kill" : "resume") -m test")
        case 1:
          isBypassed.toggle()
          try sites.tell("run policy bypass \(isBypassed ? "add" : "remove") \(pattern) -m test")
        case 2: try sites.tell("run rollback --all-bundles --yes -m test")
        default:
          version += 1
          try sites.tell("release \(version)")
        }
        _ = await app.runtime.update(force: true)
        try await Task.sleep(for: .milliseconds(dice.below(300)))
      }
      if isKilled { try sites.tell("run policy resume -m test") }
      if isBypassed { try sites.tell("run policy bypass remove \(pattern) -m test") }
      version += 1
      try sites.tell("release \(version)")
      _ = await app.runtime.update(force: true)
      isOver = true
      for task in loading { try await task.value }
      Self.note("\(loads)")
      #expect(Set(loads.keys) == ["done"])
      #expect(await app.until { registered(app) == 0 })
      // Tunneled connections are closed some seconds later.
      let proxy = app.host.proxy
      #expect(await app.until { !Sites.hosts.contains { proxy?.isPassedOn(sites.url("/", $0)) ?? true } })
      _ = try sites.log()
      let page = try WebPage(app.host)
      try await page.load(sites.url("/v/page0.html"))
      #expect(try await isOfOneVersion(page, "at the end") == version)
      let asked = try sites.log()
      #expect(asked == [])
      await app.end()
    }

    /// A clock that jumps by up to 400 days when it is read.
    private final class JumpingClock: @unchecked Sendable {  // Used under `lock`.
      private let lock = NSLock()
      private var dice = SplitMix(seed: 53)
      private var offset: Int64 = 0
      private(set) var count = 0
      var isSteady = false

      func now() -> Int64 {
        lock.lock()
        defer { lock.unlock() }
        if !isSteady, dice.one(in: 3) {
          offset = Int64.random(in: -400 * 86_400_000...400 * 86_400_000, using: &dice)
          count += 1
        }
        return Int64(Date().timeIntervalSince1970 * 1000) + offset
      }
    }

    @Test func updatesSurviveClockJumps() async throws {
      let sites = try Sites()
      try sites.tell("release 1")
      let jumping = JumpingClock()
      let app = try await App(sites, clock: { jumping.now() })
      let page = try WebPage(app.host)
      for version in 2...3 * Self.times {
        try sites.tell("release \(version)")
        for _ in 1...10 { await app.runtime.handle(.push) }
        try await page.load(sites.url("/v/page\(version % 4).html"))
        _ = try await isOfOneVersion(page, "version \(version)")
      }
      jumping.isSteady = true
      _ = await app.runtime.update(force: true)
      try await page.load(sites.url("/v/page0.html"))
      #expect(try await isOfOneVersion(page, "at the end") == 3 * Self.times)
      Self.note("\(jumping.count) jumps of the clock")
      await app.end()
    }
  }
}
