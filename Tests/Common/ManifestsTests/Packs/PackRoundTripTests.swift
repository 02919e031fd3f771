import Compression
import Manifests
import System
import Testing
import Values

@Suite struct PackRoundTripTests {
  @Test(arguments: 0..<20) func packsGiveTheNewManifest(seed: Int) throws {
    let sample = try PackSample(seed: UInt64(seed))
    let pack = try sample.pack()
    for pieces in [1, 7, 100, Int.max] {
      let got = try PackDevice.update(pack, from: sample.base, held: sample.held, pieces: pieces)
      #expect(got.manifest == sample.new)
      #expect(got.manifest.map.bytes == sample.new.map.bytes)
      for (url, bytes) in got.files { #expect(bytes == sample.files[try #require(sample.new[url]).sha256]) }
    }
  }

  /// A device without a single lazy file takes it, and gets every other file.
  @Test(arguments: 0..<20) func packsLeaveLazyFilesOut(seed: Int) throws {
    let sample = try PackSample(seed: UInt64(seed), hasLazy: true)
    let pack = try sample.pack()
    let format = try #require(sample.plan()).changes.format
    #expect(pack.starts(with: Array("XPK".utf8) + [format.rawValue]))
    let got = try PackDevice.update(pack, from: sample.base, held: sample.held)
    #expect(got.manifest == sample.new && got.manifest.map.bytes == sample.new.map.bytes)
    let leavesOut = sample.base.items.contains(where: \.entry.isLazy)
    let wanted = sample.new.items.filter {
      sample.base[$0.url] != $0.entry && !(leavesOut && $0.entry.isLazy)
    }
    #expect(Set(got.files.keys) == Set(wanted.map(\.url)))
    for (url, bytes) in got.files { #expect(bytes == sample.files[try #require(sample.new[url]).sha256]) }
  }

  /// What only lazy entries of the base have isn't what a record or an entry is made from.
  @Test(arguments: 0..<20) func lazyFilesAreNoBases(seed: Int) throws {
    let sample = try PackSample(seed: UInt64(seed), hasLazy: true)
    for arrival in try #require(sample.plan()).changes.arrivals {
      switch arrival.source {
      case .record(let base?, _), .held(let base): #expect(!sample.base.items[base].entry.isLazy)
      case .record, .arrival, .absent: break
      }
    }
  }

  @Test func samplesUseEverySource() throws {
    var found = Set<String>()
    for seed in 0..<20 {
      let sample = try PackSample(seed: UInt64(seed), hasLazy: seed % 2 == 1)
      for arrival in try #require(sample.plan()).changes.arrivals {
        switch arrival.source {
        case .record: found.insert(arrival.partner == nil ? "record" : "record with a partner")
        case .held: found.insert(arrival.partner == nil ? "held" : "held with a partner")
        case .arrival: found.insert("arrival")
        case .absent: found.insert("absent")
        }
      }
    }
    #expect(found.count == 6)
  }

  /// With every kind of source.
  @Test func listsRoundTrip() throws {
    let sample = try PackSample(seed: 3)
    let plan = try #require(sample.plan())
    let sources: [PackChanges.Source] = [
      .record(base: nil, isRenamed: false), .record(base: 0, isRenamed: false),
      .record(base: 0, isRenamed: true),
      .held(1), .arrival(0), .held(0),
    ]
    var changes = plan.changes
    for shift in sources.indices {
      for index in changes.arrivals.indices {
        let partner = changes.arrivals[index].partner.map { changes.touched[$0] }
        switch sources[(index + shift) % sources.count] {
        case .arrival where index == 0: break
        case .record(0?, let isRenamed):
          changes.arrivals[index].source = .record(base: partner ?? 2, isRenamed: isRenamed)
        case .held(0): changes.arrivals[index].source = .held(partner ?? 0)
        case let source: changes.arrivals[index].source = source
        }
      }
      let bytes = changes.bytes(version: sample.new.version, old: plan.old)
      #expect(try PackChanges(bytes, version: sample.new.version, base: sample.base.items) == changes)
    }
  }

  @Test func versionsAboveTheManifestsRoundTrip() throws {
    let sample = try PackSample(seed: 3)
    let plan = try #require(sample.plan())
    let bytes = plan.changes.bytes(version: ManifestVersion(1), old: plan.old)
    #expect(try PackChanges(bytes, version: ManifestVersion(1), base: sample.base.items) == plan.changes)
  }

  @Test func packsResumeAfterEachRecord() throws {
    let sample = try PackSample(seed: 1)
    let pack = try sample.pack()
    let first = PackDevice(sample.base, held: sample.held)
    var stops: [(records: Int, offset: Int64)] = []
    for byte in pack.indices {
      try first.take(pack[byte...byte])
      if first.records.count != stops.last?.records ?? 0 { stops.append((first.records.count, first.offset)) }
    }
    #expect(stops.count > 3)
    for stop in stops {
      let second = try PackDevice(after: first, records: stop.records, at: stop.offset)
      if stop.offset < pack.count { try second.take(pack[Int(stop.offset)...]) }
      #expect(try second.finish().manifest == sample.new)
    }
  }

  @Test(arguments: [(-1, Int64(90)), (1 << 30, 90), (0, -1), (0, 1 << 60)])
  func resumingAtInvalidPlacesFails(records: Int, offset: Int64) throws {
    let sample = try PackSample(seed: 1)
    let first = PackDevice(sample.base, held: sample.held)
    try first.take(try sample.pack()[...])
    let second = try PackDevice(after: first, records: max(0, min(records, 1)), at: 90)
    #expect(throws: Error.self) { try second.finish() }
    let head = PackHead(
      base: ManifestVersion(1), version: ManifestVersion(2), baseDigest: SHA256.of([]), digest: SHA256.of([]),
      records: 3, plainChanges: [], codedChanges: 0)
    var parser = PackParser(resuming: head, recordsTaken: records, at: offset)
    #expect(!parser.isAtEnd)
    #expect(throws: PackFault.self) { try parser.push([1].span.bytes) { _ in } }
  }

  @Test func plansNeedEntriesInTheFormOfOrigins() throws {
    let url = try ResourceURL("https://m.example.com/a.js")
    let plan = PackPlan(
      [EntryDifference(url: url, old: nil, new: Samples.entry("odd"))], index: ({ _ in nil }, { _ in nil }),
      delta: { _ in nil }, stableName: \.text)
    #expect(plan == nil)
  }

  /// An entry that keeps its URL is its own partner, also if another entry could have it that sorts earlier.
  @Test func unchangedURLsKeepTheirPartner() throws {
    let urls = try ["a.2.js", "b.js", "c.1.js"].map { try ResourceURL("https://m.example.com/\($0)") }
    func entry(_ url: ResourceURL, _ text: String) throws -> Entry {
      try #require(
        PackChanges.Arrival(
          url: url, partner: nil,
          form: EntryForm(ctype: "a/b", others: JSONObject(), downloadBase: "https://c/x/1"),
          version: 1, manifestVersion: ManifestVersion(1), source: .held(0)
        ).entry(PackSample.digest(of: Array(text.utf8))))
    }
    let changes = [
      EntryDifference(url: urls[0], old: nil, new: try entry(urls[0], "a")),
      EntryDifference(url: urls[1], old: try entry(urls[1], "b"), new: try entry(urls[1], "b2")),
      EntryDifference(url: urls[2], old: try entry(urls[2], "c"), new: nil),
    ]
    let places = [urls[1]: 0, urls[2]: 1]
    let plan = try #require(
      PackPlan(
        changes, index: ({ places[$0] }, { _ in nil }), delta: { _ in nil }, stableName: { _ in "one name" }))
    #expect(plan.changes.arrivals.map(\.partner) == [1, 0])
  }
}
