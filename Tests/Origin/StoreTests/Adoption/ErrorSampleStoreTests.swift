import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// What is kept of the errors that devices report, how much, and for how long.
@Suite struct ErrorSampleStoreTests {
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_763_553_600_000)
  private let store: Store
  private static let page = "https://m.example.com/index.html"

  init() throws {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    store = try scratch.open(options)
    try store.publish(base: 0, set: ["index.html": Sample("1"), "app.20261130.js": Sample("a")])
    try store.publish(base: 1, set: ["index.html": Sample("2")])
  }

  private func reported(
    _ message: String, version: Int64 = 2, page: String = Self.page, engine: String = "WebKit 605.1",
    stack: [String] = [], count: Int = 1
  ) throws -> ReportedSample {
    let sample = ErrorSample(.script, message: message, page: page, engine: engine, stack: stack) { _ in true
    }
    var reported = ReportedSample(
      channel: try store.shop().id, version: ManifestVersion(version), sample: sample)
    if count > 1 { reported.add(engine: engine, count: count - 1) }
    return reported
  }

  private func kept(_ versions: Int64..., page: String? = nil, limit: Int = 500) throws -> KeptSamples {
    try store.samples(
      of: try store.shop(), versions: (versions.isEmpty ? [2] : versions).map { ManifestVersion($0) },
      page: page, limit: limit)
  }

  private func words(_ kept: KeptSamples) -> [String] {
    kept.samples.map { "\($0.sample.message) \($0.count)" }
  }

  private func set(samples: Bool) throws -> ConfiguredChannel {
    var change = SettingsChange()
    change.samples = samples
    return try store.set(change, of: try AppName("shop"), .online)
  }

  @Test func samplesOfOneKindAreCounted() throws {
    let frames = ["f@https://m.example.com/app.js:1:2", "@https://m.example.com/app.js:3:4"]
    try store.keep([reported("a", stack: frames), reported("b", count: 3)])
    now.withLock { $0 += 5_000 }
    for engine in ["Chromium 141", "Firefox 128", "WebKit 605.1", "A 1", "B 1", "C 1"] {
      try store.keep([reported("a", engine: engine, stack: [frames[0]])])
    }
    // Another first frame is another kind.
    try store.keep([reported("a", stack: [frames[1]])])
    let all = try kept()
    #expect(words(all) == ["a 7", "b 3", "a 1"] && all.others == 0)
    let first = try #require(all.samples.first)
    #expect(first.engines == ["WebKit 605.1", "Chromium 141", "Firefox 128", "A 1", "B 1"])
    #expect(first.sample.stack == frames && first.sample.page == Self.page && first.sample.kind == .script)
    #expect(first.firstAt == 1_763_553_600_000 && first.lastAt == 1_763_553_605_000)
    #expect(try words(kept(limit: 1)) == ["a 7"])
    #expect(try words(kept(page: "https://m.example.com/other.html")) == [])
    #expect(try words(kept(page: Self.page)).count == 3)
    #expect(throws: StoreError.self) { try kept(7) }
  }

  /// Otherwise nothing of a clock that was ahead would be forgotten until it is that late.
  @Test func aClockThatWasAheadIsForgotten() throws {
    let (year, begun): (Int64, Int64) = (365 * 86_400_000, now.withLock { $0 })
    now.withLock { $0 += year }
    try store.keep([reported("a")])
    now.withLock { $0 -= year }
    try store.keep([reported("a")])
    let sample = try #require(try kept().samples.first)
    #expect(sample.firstAt == begun && sample.lastAt == begun && sample.count == 2)
  }

  /// The origin strips again, by the URLs that the channel has: another's path with a number isn't a file's.
  @Test func textsAreStrippedAgain() throws {
    let frames = [
      "f@https://m.example.com/app.20261130.js:1:2", "f@https://m.example.com/app.20261131.js:1:2",
    ]
    try store.keep([
      reported(
        "at https://m.example.com/orders/123456", page: "https://m.example.com/o/123456", stack: frames)
    ])
    let sample = try #require(try kept().samples.first).sample
    #expect(sample.message == "at https://m.example.com/orders/*")
    #expect(sample.page == "https://m.example.com/o/*")
    #expect(sample.stack == [frames[0], "f@https://m.example.com/*:1:2"])
  }

  @Test func othersAreOnlyCounted() throws {
    try store.keep((0..<25).map { try reported("message \($0)") })
    #expect(try kept().samples.count == 20 && kept().others == 5)
    try store.keep([reported("message 3"), reported("message 77", count: 4)])
    #expect(try kept().samples.first?.count == 2 && kept().others == 9)
    #expect(try kept(page: Self.page).others == 9)
    // Each page and version has room of its own.
    try store.keep([reported("x", page: "https://m.example.com/b"), reported("x", version: 1)])
    #expect(try kept().samples.count == 21 && kept(1).samples.count == 1)
    #expect(try kept(1, 2).samples.count == 22)
    try store.countOthers([
      (try store.shop().id, ManifestVersion(2), 6), (try store.shop().id, ManifestVersion(9), 6),
    ])
    #expect(try kept().others == 15)
  }

  /// A channel keeps 500: those of older versions make room. Pages without a sample have no row of their own, however many there are.
  @Test func olderVersionsGoFirst() throws {
    for page in 0..<25 {
      try store.keep(
        (0..<21).map { try reported("m \($0)", version: 1, page: "https://m.example.com/\(page)/") })
    }
    #expect(try kept(1).samples.count == 500 && kept(1).others == 25)
    for page in 0..<30 {
      try store.keep((0..<20).map { try reported("n \($0)", page: "https://m.example.com/x/\(page)/") })
    }
    #expect(try kept(1).samples.isEmpty && kept(2).samples.count == 500)
    #expect(try kept(2).others == 100)
    #expect(try kept(1).others == 0, "what was counted of their pages went with them")
    // An older version's don't come back.
    try store.keep([reported("late", version: 1)])
    #expect(try kept(1).samples.isEmpty && kept(1).others == 1)
  }

  /// Whoever invents pages keeps no sample of a page out that somebody published.
  @Test func listedPagesGoFirst() throws {
    let invented = try (0..<500).map { try reported("a", page: "https://m.example.com/p\($0).html") }
    try store.keep(invented)
    #expect(try kept().samples.count == 500)
    try store.keep([reported("real"), reported("b", page: "https://m.example.com/late.html")])
    let all = try kept()
    #expect(all.samples.count == 500 && all.others == 1)
    #expect(try words(kept(page: Self.page)) == ["real 1"])
    #expect(try words(kept(page: "https://m.example.com/late.html")) == [])
  }

  @Test func foreignPagesAndVersionsAreIgnored() throws {
    for page in [
      "https://evil.example/", "http://m.example.com/index.html", "https://m.example.com:8443/",
      "https://m.example.com.evil.example/",
      "https://m.example.co/", "https://m.example.comx/", "https://", "file:",
    ] { try store.keep([reported("a", page: page)]) }
    for version in [0, 3, 1 << 53 - 1] as [Int64] { try store.keep([reported("a", version: version)]) }
    #expect(try kept().samples.isEmpty && kept(1).samples.isEmpty && kept().others == 0)
    // A host of the channel without a listed URL.
    var change = SettingsChange()
    change.hosts = .some(try HostList(["m.example.com", "*.shop.example"]))
    _ = try store.set(change, of: try AppName("shop"), .online)
    try store.keep([
      reported("a", page: "https://www.shop.example/x"), reported("b", page: "https://shop.example.net/"),
    ])
    #expect(try words(kept()) == ["a 1"])
  }

  @Test func switchedOffForgetsThem() throws {
    try store.keep((0..<25).map { try reported("message \($0)") })
    let off = try set(samples: false)
    #expect(off.forgottenSamples == 20 && !off.extras.takesSamples && off.extras.answerExtras.samples == 0)
    #expect(try kept().samples.isEmpty && kept().others == 0)
    try store.keep([reported("a")])
    try store.countOthers([(try store.shop().id, ManifestVersion(2), 6)])
    #expect(try kept().samples.isEmpty && kept().others == 0)
    let row = try #require(try store.auditRows(after: try store.auditHead().row - 1, limit: 1).first)
    #expect(row.act == "channel.set" && row.parameters.contains(#""samples":false"#))
    #expect(row.result == #"{"changes":{"samples":{"from":true,"to":false}},"forgottenSamples":20}"#)
    let on = try set(samples: true)
    #expect(on.forgottenSamples == nil && on.extras.takesSamples && on.extras.answerExtras.samples == nil)
    try store.keep([reported("a")])
    #expect(try words(kept()) == ["a 1"])
    #expect(try store.checkup(deep: false).findings.isEmpty)
  }

  @Test func theyEndAfterThirtyDays() throws {
    try store.keep((0..<25).map { try reported("message \($0)") })
    now.withLock { $0 += 20 * 86_400_000 }
    try store.keep([reported("message 1")])
    now.withLock { $0 += 11 * 86_400_000 }
    try store.count([PollCount(channel: try store.shop().id, version: 2, polls: 1)])
    #expect(try words(kept()) == ["message 1 2"] && kept().others == 0)
  }

  @Test func theyGoWithTheirVersion() throws {
    try store.keep([reported("a", version: 1), reported("b")])
    try store.keep((0..<21).map { try reported("message \($0)", version: 1) })
    var policy = RetentionPolicy()
    policy.versions = 1
    policy.days = 0
    now.withLock { $0 += 86_400_000 }
    _ = try store.collect(policy)
    #expect(throws: StoreError.self) { try kept(1) }
    #expect(try words(kept()) == ["b 1"])
    try store.keep([reported("c", version: 1)])
    #expect(try words(kept()) == ["b 1"])
  }
}
