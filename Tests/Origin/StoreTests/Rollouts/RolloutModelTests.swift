import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Random acts, compared with a model without database rows: the content of each version, and which one is the full version.
@Suite struct RolloutModelTests {
  private typealias Content = [String: [String: String]]

  private struct Model {
    var versions: [Int64: Content] = [0: [:]]
    var full: Int64 = 0
    var candidate: Int64?
    var newest: Int64 = 0

    var fullContent: Content { versions[full] ?? [:] }
    var candidateContent: Content? { candidate.flatMap { versions[$0] } }

    /// The candidate's bundles.
    var candidateBundles: Set<String> {
      guard let candidate = candidateContent else { return [] }
      let full = fullContent
      return Set(candidate.keys).union(full.keys).filter { candidate[$0] != full[$0] }
    }

    mutating func make(_ content: Content) -> Int64 {
      newest += 1
      versions[newest] = content.filter { !$0.value.isEmpty }
      return newest
    }

    /// Releases bundles; returns the release's version.
    mutating func release(_ bundles: Content, toSome: Bool) -> Int64 {
      var wanted = fullContent
      for (name, files) in bundles { wanted[name] = files.isEmpty ? nil : files }
      if wanted == fullContent { return full }
      let touches = bundles.contains {
        candidateBundles.contains($0.key) && fullContent[$0.key] != wanted[$0.key]
      }
      if let held = candidate, candidateContent == wanted {
        if !toSome { (full, candidate) = (held, nil) }
        return held
      }
      if toSome {
        candidate = make(wanted)
        return newest
      }
      guard let old = candidateContent, !touches else {
        full = make(wanted)
        candidate = nil
        return full
      }
      var again = wanted
      for name in candidateBundles { again[name] = old[name] }
      full = make(wanted)
      candidate = make(again)
      return full
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func randomActs(seed: UInt64) throws {
    let held = try CrashingStore()
    var random = SplitMix(seed: seed)
    var model = Model()
    var crashes = 0
    try held.store.publish("a", base: 0, set: ["a/1": Sample("first")])
    model.full = model.make(["a": ["a/1": "first"]])
    for step in 0..<60 {
      let note: Comment = "seed \(seed), step \(step)"
      switch random.below(10) {
      case 0 where model.candidate != nil:
        _ = try held.store.changeRollout(
          RolloutInput(app: try AppName("shop"), channel: .online, .complete, by: .local))
        (model.full, model.candidate) = (model.candidate ?? 0, nil)
      case 1 where model.candidate != nil:
        _ = try held.store.haltRollout(try AppName("shop"), .online, nil, by: .local, reason: "no")
        model.full = model.make(model.fullContent)
        model.candidate = nil
      case 2:
        var policy = RetentionPolicy()
        (policy.versions, policy.days) = (4, 0)
        _ = try held.store.collect(policy)
      default:
        let toSome = random.below(3) == 0
        var bundles: Content = [:]
        var changes: [BundleChange] = []
        for name in ["a", "b", "c"] where random.below(3) == 0 {
          var files: [String: String] = [:]
          for number in 1...3 where random.below(2) == 0 { files["\(name)/\(number)"] = "\(random.below(3))" }
          if files.isEmpty { files["\(name)/1"] = "\(random.below(3))" }
          bundles[name] = files
          try held.store.send(files.values.map { Sample($0) })
          changes.append(try held.store.change(name, base: 0, set: files.mapValues { Sample($0) }))
        }
        if changes.isEmpty { continue }
        var request = try held.store.request(changes)
        request.rollout = toSome ? RolloutAudience(share: random.below(10_000)) : nil
        if random.below(3) == 0 { held.arm(1 + random.below(3)) }
        do {
          let outcome = try held.store.commit(request)
          held.arm(nil)
          #expect(outcome.version.number == model.release(bundles, toSome: toSome), note)
        } catch {
          // A pattern with `where` in this catch crashes the compiler of Swift 6.3 ("Found ownership error").
          guard case StoreError.system(let system) = error, system.code == CrashingStore.code else {
            throw error
          }
          // Nothing was stored, and no candidate ended.
          crashes += 1
          try held.reopen()
        }
      }
      let channel = try held.store.shop()
      #expect(channel.full.version.number == model.full, note)
      #expect(channel.rollout?.candidate.number == model.candidate, note)
      #expect(channel.version.number == model.newest, note)
      for version in Set([model.full, model.newest]) {
        let files = model.versions[version]?.values.reduce(into: [:]) { $0.merge($1) { $1 } } ?? [:]
        #expect(try held.store.texts(at: version) == files, note)
      }
      for state in [channel, channel.full] {
        #expect(state.digest == (try held.store.digestByQuery(channel, at: state.version)), note)
      }
      guard channel.version.number == model.newest, channel.full.version.number == model.full else { return }
    }
    #expect(crashes > 0)
    #expect(try held.store.checkup(deep: false).findings.filter { $0.kind == .damage }.isEmpty)
  }
}
