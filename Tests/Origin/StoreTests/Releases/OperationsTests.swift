import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Random publishes, unpublishes, rollbacks and promotions of several bundles, compared with a model that copies every manifest.
@Suite struct OperationsTests {
  let scratch = Scratch()
  static let bundles = ["one", "two", "three"]

  typealias Content = [ResourceURL: Sample]

  /// The expected state of a channel: every bundle at every version.
  struct Model {
    struct Release {
      var bundles: [String: Content]
      /// The version and bundle of a rollback.
      var target: (version: Int, bundle: String?)?
      var changed: Set<String> = []
    }

    var releases: [Release] = [Release(bundles: [:])]
    var newest: Release { releases[releases.count - 1] }

    static func union(_ bundles: [String: Content]) -> Content {
      bundles.values.reduce(into: [:]) { $0.merge($1) { a, _ in a } }
    }

    static func isConsistent(_ bundles: [String: Content]) -> Bool {
      var union: Content = [:]
      for (url, sample) in bundles.values.joined() {
        if let other = union.updateValue(sample, forKey: url), other != sample { return false }
      }
      return true
    }

    mutating func add(_ bundles: [String: Content], target: (Int, String?)? = nil) -> Bool {
      let before = newest.bundles
      let changed = Set(OperationsTests.bundles.filter { bundles[$0] ?? [:] != before[$0] ?? [:] })
      if changed.isEmpty { return false }
      releases.append(Release(bundles: bundles, target: target.map { ($0.0, $0.1) }, changed: changed))
      return true
    }

    /// The version `steps` distinct contents back, computed in the simplest way.
    func stepsBack(_ steps: Int, _ bundle: String?) -> Int? {
      let own = releases.indices.dropFirst().filter {
        bundle == nil || releases[$0].changed.contains(bundle ?? "")
      }
      func content(_ version: Int) -> Content {
        bundle.map { releases[version].bundles[$0] ?? [:] } ?? Self.union(releases[version].bundles)
      }
      // Whether a rollback restored everything, not one bundle while others had changed.
      func isWhole(_ version: Int) -> Bool {
        guard let target = releases[version].target else { return true }
        return bundle != nil || target.bundle == nil || content(version) == content(target.version)
      }
      func source(_ version: Int) -> Int {
        guard let target = releases[version].target,
          let older = isWhole(version)
            ? own.last(where: { $0 <= target.version })
            : own.last(where: { $0 < version && content($0) == content(version) })
        else { return version }
        return source(older)
      }
      // What a rollback of one bundle undid isn't a step.
      func before(_ version: Int) -> Int? {
        guard let target = releases[version].target, !isWhole(version) else {
          return own.last { $0 < version }
        }
        return own.last { $0 <= target.version }
      }
      guard let last = own.last else { return nil }
      var place = source(last)
      var contents = [content(place)]
      while contents.count <= steps {
        guard let older = before(place) else { return nil }
        place = source(older)
        if !contents.contains(content(place)) { contents.append(content(place)) }
      }
      return place
    }
  }

  @Test(arguments: Array(1...5) as [UInt64])
  func rollbacksAreExact(seed: UInt64) throws {
    let time = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { time.withLock { $0 } }
    let store = try scratch.open(options)
    var random = SplitMix(seed: seed)
    let channels = [ChannelName.online, try ChannelName("test")]
    var models = [Model(), Model()]
    var rollbacks = 0
    var promotions = 0
    var refused = 0
    var times: [(Int64, ManifestVersion)] = []
    try store.send((0..<3).map { Sample("content \($0)") })
    for _ in 0..<70 {
      // The clock sometimes stands still: then several releases have one time, and the last of them counts.
      time.withLock { $0 += max(0, Int64.random(in: -20...40, using: &random)) }
      let place = Int.random(in: 0..<3, using: &random) / 2
      let channel = channels[place]
      if models[1 - place].releases.count > 3, Int.random(in: 0..<6, using: &random) == 0 {
        let source = (channel: channels[1 - place], model: models[1 - place])
        promotions += try promote(store, source, to: channel, &models[place], &random) ? 1 : 0
      } else if models[place].releases.count > 3, Int.random(in: 0..<3, using: &random) == 0 {
        switch try rollback(store, channel, &models[place], &random) {
        case .done: rollbacks += 1
        case .conflict: refused += 1
        case .nothing: break
        }
      } else {
        try publish(store, channel, &models[place], &random)
      }
      if let shop = try? store.shop() { times.append((time.withLock { $0 }, shop.version)) }
    }
    #expect(rollbacks + promotions > 5 && refused >= 0, "the history has too few acts")
    for (channel, model) in zip(channels, models) {
      try compare(store, try store.channel(try AppName("shop"), channel), model)
    }
    let shop = try store.shop()
    // If a time was recorded several times, the last record counts: it includes everything of that time.
    let last = Dictionary(times) { $1 }
    for (moment, version) in last {
      #expect(try store.version(.moment(moment), of: shop) == version)
      #expect(try store.digest(shop, at: version) == store.digestByQuery(shop, at: version))
    }
    #expect(try store.version(.moment(0), of: shop) == .none)
    let (wrong, head) = try store.verifyAudit()
    // The first token has a row, too.
    #expect(wrong == nil && head.row == Int64(models.reduce(1) { $0 + $1.releases.count - 1 }))
  }

  /// Promotes all bundles of another channel, or one of them, at some version; false if nothing changes.
  private func promote(
    _ store: Store, _ source: (channel: ChannelName, model: Model), to channel: ChannelName,
    _ model: inout Model,
    _ random: inout SplitMix
  ) throws -> Bool {
    let from = try store.channel(try AppName("shop"), source.channel)
    let number = Int.random(in: 1..<source.model.releases.count, using: &random)
    let version = ManifestVersion(Int64(number))
    let contents = try store.contents(of: from, at: version)
    let there = source.model.releases[number].bundles.filter { !$0.value.isEmpty }
    #expect(
      contents.mapValues { $0.mapValues(\.sha256) }
        == Dictionary(
          uniqueKeysWithValues: try there.map { (try BundleName($0.key), $0.value.mapValues(\.claim.sha256)) }
        ))
    if contents.isEmpty { return false }
    var request = try store.request(
      contents.map { BundleChange($0.key, .update(base: .none, set: $0.value, remove: [])) })
    request.channel = channel
    request.source = ReleaseSource(channel: from, version: version, bundle: nil)
    var next = model.newest.bundles
    for (name, content) in there { next[name] = content }
    do {
      let outcome = try store.commit(request)
      #expect(Model.isConsistent(next))
      let changed = model.add(next)
      #expect(outcome.changed == changed)
      return changed
    } catch {
      guard case .urlConflicts = error else { throw error }
      #expect(!Model.isConsistent(next), "a conflict was reported without one")
      return false
    }
  }

  private func publish(_ store: Store, _ channel: ChannelName, _ model: inout Model, _ random: inout SplitMix)
    throws
  {
    let name = Self.bundles.randomElement(using: &random) ?? "one"
    var next = model.newest.bundles
    var content = next[name] ?? [:]
    let base = Int64(model.releases.lastIndex { $0.changed.contains(name) } ?? 0)
    var change = BundleChange(try BundleName(name), .unpublish)
    if base > 0, Int.random(in: 0..<8, using: &random) == 0 {
      content = [:]
    } else {
      var set: [String: Sample] = [:]
      for path in (0..<9).map({ "f\($0).js" }).shuffled(using: &random).prefix(3) {
        let text = "content \(Int.random(in: 0..<3, using: &random))"
        // The same bytes with another fallback are another content.
        let isFallback = Int.random(in: 0..<4, using: &random) == 0
        set[path] = Sample(
          text, fallbacks: isFallback ? try PageFallbacks([.init(prefix: "/")]) : PageFallbacks())
      }
      let remove = (0..<9).map { "f\($0).js" }.filter { set[$0] == nil }.prefix(
        Int.random(in: 0..<6, using: &random))
      change = try store.change(name, base: base, set: set, remove: Array(remove))
      for (path, sample) in set { content[try url(path)] = sample }
      for path in remove { content[try url(path)] = nil }
    }
    next[name] = content
    do {
      var request = try store.request([change])
      request.channel = channel
      let outcome = try store.commit(request)
      #expect(Model.isConsistent(next))
      #expect(outcome.changed == model.add(next))
    } catch StoreError.urlConflicts {
      #expect(!Model.isConsistent(next))
    }
  }

  /// The result of a rollback request.
  enum Result {
    case done, conflict, nothing
  }

  private func rollback(
    _ store: Store, _ channel: ChannelName, _ model: inout Model, _ random: inout SplitMix
  ) throws -> Result {
    let bundle = Bool.random(using: &random) ? Self.bundles.randomElement(using: &random) : nil
    let steps = Int.random(in: 1...4, using: &random)
    let number = Int.random(in: 1..<model.releases.count, using: &random)
    let countsSteps = Bool.random(using: &random)
    let version: Int? = countsSteps ? model.stepsBack(steps, bundle) : number
    let target: RollbackInput.Target =
      countsSteps ? .steps(steps) : .version(.number(ManifestVersion(Int64(number))))
    let request = RollbackInput(
      app: try AppName("shop"), channel: channel, bundle: try bundle.map { try BundleName($0) }, to: target,
      by: Actor(name: "anna", address: "10.0.0.7"), message: "back")
    let isKnown = bundle.map { name in model.releases.contains { $0.changed.contains(name) } } ?? true
    guard isKnown, let version else {
      #expect(throws: StoreError.self) { try store.rollback(request) }
      return .nothing
    }
    var next = model.newest.bundles
    for name in Self.bundles where bundle == nil || bundle == name {
      next[name] = model.releases[version].bundles[name]
    }
    return try rollback(store, request, &model, to: next, version)
  }

  private func rollback(
    _ store: Store, _ request: RollbackInput, _ model: inout Model, to next: [String: Content],
    _ version: Int
  ) throws -> Result {
    var dryRequest = request
    dryRequest.dryRun = true
    // A rollback by steps must not remove the bundle or empty the channel.
    var leavesNothing = false
    if case .steps = request.target {
      let scope = Self.bundles.filter { request.bundle.map(\.text) ?? $0 == $0 }
      leavesNothing = scope.allSatisfy { next[$0]?.isEmpty ?? true } && next != model.newest.bundles
    }
    let dry: RollbackOutcome
    let done: RollbackOutcome
    do {
      dry = try store.rollback(dryRequest)
      done = try store.rollback(request)
    } catch .nothingLeft {
      #expect(leavesNothing, "something is left")
      return .nothing
    } catch {
      guard case .urlConflicts = error else { throw error }
      #expect(!Model.isConsistent(next), "a conflict was reported without one")
      return .conflict
    }
    #expect(!leavesNothing, "nothing is left")
    #expect(Model.isConsistent(next), "a conflict was not detected")
    #expect(dry.release.changes == done.release.changes && dry.bundles == done.bundles)
    #expect(done.target.number == Int64(version))
    let before = Model.union(model.newest.bundles)
    let after = Model.union(next)
    let touched = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()
    #expect(done.release.changes.map(\.url) == touched)
    #expect(done.release.resources == after.count)
    #expect(done.release.bytes == after.values.reduce(0) { $0 + Int64($1.bytes.count) })
    let changed = model.add(next, target: (version, request.bundle?.text))
    #expect(done.release.changed == changed)
    #expect(Set(done.bundles.map(\.name.text)) == (changed ? model.newest.changed : []))
    return changed ? .done : .nothing
  }

  private func compare(_ store: Store, _ shop: ChannelInfo, _ model: Model) throws {
    #expect(shop.version.number == Int64(model.releases.count - 1))
    var known: [ResourceURL: [Sample: Entry]] = [:]
    for (number, release) in model.releases.enumerated() {
      let version = ManifestVersion(Int64(number))
      let rows = try store.manifest(shop, at: version)
      let union = Model.union(release.bundles)
      #expect(rows.map(\.url) == union.keys.sorted(), "version \(number)")
      for (url, entry) in rows {
        let sample = try #require(union[url])
        #expect(entry.sha256 == sample.claim.sha256 && entry.fallbacks == sample.fallbacks)
        // Restored content has its former entry, including the download URL.
        let first = known[url, default: [:]][sample]
        #expect(first == nil || first == entry)
        known[url, default: [:]][sample] = entry
      }
      if number == 0 { continue }
      #expect(try store.digest(shop, at: version) == store.digestByQuery(shop, at: version))
      let record = try store.release(version, of: shop)
      #expect(record.kind == (release.target != nil ? .rollback : record.kind))
      if record.kind != .promote {
        #expect(record.details.source?.version.number == release.target.map { Int64($0.version) })
      }
      #expect(record.resources == union.count)
    }
    for (name, content) in model.newest.bundles {
      guard let info = try store.bundles(of: shop).first(where: { $0.name.text == name }) else { continue }
      #expect(info.resources == content.count)
      #expect(info.bytes == content.values.reduce(0) { $0 + Int64($1.bytes.count) })
    }
    for from in model.releases.indices {
      let to = model.releases.count - 1
      let was = Model.union(model.releases[from].bundles)
      let now = Model.union(model.releases[to].bundles)
      let changes = try store.changes(
        shop, from: ManifestVersion(Int64(from)), to: ManifestVersion(Int64(to)))
      #expect(changes.map(\.url) == Set(was.keys).union(now.keys).filter { was[$0] != now[$0] }.sorted())
    }
  }
}
