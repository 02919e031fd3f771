import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

/// A dry run is refused as what it tries would be.
@Suite struct PlannedSigningTests {
  private let a1 = ["a.js": Sample("a1")]
  private let a2 = ["a.js": Sample("a2")]
  private let b2 = ["b.js": Sample("b2")]

  private func begun() throws -> SignedShop {
    let shop = try SignedShop()
    _ = try shop.begin()
    return shop
  }

  /// The words of a refusal, which has to be the same in a dry run; nil if it is taken.
  private func refusal(_ body: (_ dryRun: Bool) throws -> Void) throws -> String? {
    func words(_ dryRun: Bool) -> String? {
      do {
        try body(dryRun)
        return nil
      } catch {
        return "\(error)"
      }
    }
    let dry = words(true)
    #expect(words(false) == dry)
    return dry
  }

  @Test func floorBesideTheCandidate() throws {
    let shop = try begun()
    func publish(floor: Int64, dryRun: Bool) throws {
      try shop.publish(
        "a", base: 1, set: a2, share: 500, dryRun: dryRun,
        with: [try shop.statement("a", a2, serial: 20, floor: floor)])
    }
    #expect(try refusal { try publish(floor: 11, dryRun: $0) }?.contains("version 4") ?? false)
    #expect(try refusal { try publish(floor: 10, dryRun: $0) } == nil)
  }

  @Test func floorBeneathTheCandidate() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20)])
    func publish(floor: Int64, dryRun: Bool) throws {
      let signed = try shop.statement("b", b2, serial: 20)
      try shop.publish(
        "b", base: 2, set: b2, dryRun: dryRun,
        with: [signed, try shop.statement("a", a1, serial: 41, floor: floor)])
    }
    #expect(try refusal { try publish(floor: 21, dryRun: $0) }?.contains("version 4") ?? false)
    #expect(try refusal { try publish(floor: 20, dryRun: $0) } == nil)
  }

  @Test func floorInAnotherChannel() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20)])
    let refusal = try refusal { dryRun in
      try shop.store.send(a1.values)
      var request = try shop.store.request([try shop.store.change("a", base: 0, set: a1)], dryRun: dryRun)
      request.channel = try ChannelName("beta")
      request.statements = [
        try shop.statement("a", a1, serial: 30, floor: 30, channels: ["beta", "online"])
      ]
      _ = try shop.store.commit(request)
    }
    #expect(refusal?.contains("floor of a") ?? false)
  }

  @Test func rollbackAsARollout() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    let refusal = try refusal { dryRun in
      var input = RollbackInput(
        app: shop.app, channel: .online, bundle: nil, to: .version(.number(ManifestVersion(3))),
        by: shop.anna,
        dryRun: dryRun)
      input.rollout = RolloutAudience(share: 500)
      input.statements = [try shop.statement("a", a1, serial: 30, floor: 30)]
      _ = try shop.store.rollback(input)
    }
    #expect(refusal?.contains("floor of a") ?? false)
  }

  @Test func tooManyBundles() throws {
    let shop = try begun()
    let sample = Sample("same")
    func publish(_ count: Int, dryRun: Bool) throws {
      let names = (0..<count).map { "n\($0)" }
      try shop.publish(
        try names.map { try shop.store.change($0, base: 0, set: ["\($0).js": sample]) }, sending: [sample],
        dryRun: dryRun, with: try names.map { try shop.statement($0, ["\($0).js": sample], serial: 20) })
    }
    let limit = AnswerTrust.releaseLimit
    #expect(try refusal { try publish(limit - 1, dryRun: $0) }?.contains("1000") ?? false)
    #expect(try refusal { try publish(limit - 2, dryRun: $0) } == nil)
  }

  @Test func rollbackIsRefusedInItsOwnWords() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, floor: 20)])
    func words(_ error: any Error) -> String { "\(error)" }
    #expect {
      try shop.rollback(to: 3)
    } throws: {
      let words = words($0)
      return words.contains("version 3") && words.contains("floor") && !words.contains("promote")
    }
    let dry = try shop.rollback(to: 3, dryRun: true).release.trust
    #expect(dry.unsigned(in: .online).map(\.target) == [ManifestVersion(3)])
    // Of a key that was removed.
    let root = try shop.root(2, grants: [ReleaseGrant(signers: try SignedShop.group(shop.otherKey))])
    try shop.push(
      root,
      releases: [
        try shop.statement("a", a2, serial: 30, by: shop.otherKey),
        try shop.statement("b", ["b.js": Sample("b1")], serial: 30, by: shop.otherKey),
      ])
    #expect {
      try shop.rollback(to: 3)
    } throws: {
      let words = words($0)
      return words.contains("a rollback signs nothing") && words.contains("(release-key)")
        && !words.contains("below the floor")
    }
  }
}
