import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Scheduled freezes: whether one holds depends on the clock.
@Suite struct PlannedFreezeTests {
  let scratch = Scratch()
  let anna = Actor(name: "anna", address: "10.0.0.7")
  let now = Locked<Int64>(1_796_000_000_000)
  private let hour: Int64 = 3_600_000

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    return store
  }

  private func go(_ hours: Int64) { now.withLock { $0 += hours * hour } }

  private func freeze(_ store: Store, from: Int64?, to: Int64?, _ reason: String = "sale") throws
    -> ChannelFreeze
  {
    let now = store.now
    let plan = FreezePlan(from: from.map { now + $0 * hour }, to: to.map { now + $0 * hour })
    return try store.freezeChannel(try AppName("shop"), .online, reason: reason, plan: plan, by: anna).freeze
  }

  private func thaw(_ store: Store, _ scope: ThawScope = .current) throws -> [ChannelFreeze] {
    try store.thawChannel(try AppName("shop"), .online, scope, by: anna)
  }

  /// Whether a release is refused because of a freeze; the text makes each release another one.
  private func isFrozen(_ store: Store, _ text: String) throws -> Bool {
    do {
      try store.publish("a", base: try store.shop().version.number, set: ["a.js": Sample(text)])
      return false
    } catch StoreError.frozen {
      return true
    }
  }

  @Test func beginsAndEndsByTheClock() throws {
    let store = try open()
    let freeze = try freeze(store, from: 1, to: 3)
    #expect(freeze.calendar?.to?.milliseconds == freeze.since.milliseconds + 2 * hour)
    #expect(try store.freeze(of: store.shop()) == nil)
    #expect(try store.plannedFreezes(of: store.shop()) == [freeze])
    #expect(try !isFrozen(store, "before"))
    go(1)
    #expect(try store.freeze(of: store.shop()) == freeze)
    #expect(try isFrozen(store, "in it"))
    #expect(throws: StoreError.self) {
      try store.rollback(
        RollbackInput(
          app: try AppName("shop"), channel: .online, bundle: nil, to: .version(.number(ManifestVersion(1))),
          by: anna))
    }
    now.withLock { $0 += 2 * hour - 1 }
    #expect(try isFrozen(store, "the last moment"))
    now.withLock { $0 += 1 }
    #expect(try !isFrozen(store, "after"))
    #expect(try store.plannedFreezes(of: store.shop()).isEmpty)
    #expect(try thaw(store).isEmpty)
  }

  @Test func breakGlassOverridesAndIsRecorded() throws {
    let store = try open()
    _ = try freeze(store, from: nil, to: 2)
    try store.send([Sample("a2")])
    var request = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    request.breakGlass = "checkout is broken"
    let version = try store.commit(request).version
    let channel = try store.shop().id
    let details = try store.connections.reading { (db) throws(StoreError) in
      try db.details(ofRelease: version, in: channel)
    }
    #expect(details.emergencyOverride?.frozenBy == "anna")
  }

  @Test func severalFreezes() throws {
    let store = try open()
    let first = try freeze(store, from: nil, to: 2, "one")
    let second = try freeze(store, from: 1, to: 5, "two")
    let third = try freeze(store, from: 10, to: nil, "three")
    #expect(try store.plannedFreezes(of: store.shop()) == [first, second, third])
    #expect(try store.freeze(of: store.shop()) == first)
    go(1)
    // The freeze that holds longest is shown.
    #expect(try store.freeze(of: store.shop()) == second)
    // A freeze without an end, besides scheduled ones; thaw ends all that hold, and keeps later ones.
    let open = try store.freezeChannel(try AppName("shop"), .online, reason: "now", by: anna)
    #expect(open.replaced == nil)
    #expect(try thaw(store) == [open.freeze, first, second])
    #expect(try !isFrozen(store, "a2"))
    #expect(try store.plannedFreezes(of: store.shop()) == [third])
    go(9)
    #expect(try isFrozen(store, "a3"))
    go(10_000)
    #expect(try isFrozen(store, "a4"))
    #expect(try thaw(store) == [third])
    #expect(try !isFrozen(store, "a5"))
    #expect(try store.channelStates().first?.planned.isEmpty == true)
  }

  @Test func freezeThatHoldsLongestIsShown() throws {
    let store = try open()
    let long = try freeze(store, from: 1, to: 9, "long")
    _ = try freeze(store, from: 2, to: 3, "within it")
    go(2)
    #expect(try store.freeze(of: store.shop()) == long)
    let endless = try freeze(store, from: nil, to: nil, "until it is thawed")
    _ = try freeze(store, from: nil, to: 900, "longer")
    #expect(try store.freeze(of: store.shop()) == endless)
  }

  /// A freeze that ended holds again after the clock is set back, unless it was removed.
  @Test func clockSetBack() throws {
    let store = try open()
    _ = try freeze(store, from: 1, to: 3)
    go(4)
    #expect(try !isFrozen(store, "after"))
    go(-2)
    #expect(try isFrozen(store, "again"))
    go(-2)
    #expect(try !isFrozen(store, "before"))
  }

  @Test func scheduledFreezeCanBeCancelled() throws {
    let store = try open()
    let first = try freeze(store, from: 1, to: 2)
    let second = try freeze(store, from: 1, to: 3)
    #expect(try thaw(store, .planned(try #require(first.calendar?.id))) == [first])
    #expect(try store.plannedFreezes(of: store.shop()) == [second])
    for id in [first.calendar?.id ?? 0, 99] {
      #expect { try thaw(store, .planned(id)) } throws: {
        if case StoreError.unknownFreeze(_, _, id) = $0 { true } else { false }
      }
    }
    let rows = try store.auditRows(after: 0, limit: 100)
    let last = try #require(rows.last)
    #expect(last.act == "channel.thaw" && last.result.contains(Timestamp.text(first.since.milliseconds)))
    #expect(rows.filter { $0.act == "channel.freeze" }.count == 2)
  }

  @Test func onlyTheChannelsPendingFreezesCanBeCancelled() throws {
    let store = try open()
    let freeze = try freeze(store, from: nil, to: 1)
    let (id, now) = (try store.shop().id, store.now)
    let others = try store.connections.reading { (db) throws(StoreError) in
      (try db.plannedFreeze(of: id, at: now), try db.plannedFreeze(of: id + 1, at: now))
    }
    #expect(others.0 == freeze && others.1 == nil)
    go(1)
    #expect {
      try thaw(store, .planned(try #require(freeze.calendar?.id)))
    } throws: {
      if case StoreError.unknownFreeze = $0 { true } else { false }
    }
  }

  @Test func freezesInThePastAreRefused() throws {
    let store = try open()
    for (from, to) in [(nil, 0), (2, 1), (1, 1), (-3, -2)] as [(Int64?, Int64)] {
      #expect { try freeze(store, from: from, to: to) } throws: {
        if case StoreError.freezeOver = $0 { true } else { false }
      }
    }
    for _ in 0..<FreezePlan.maxPlanned { _ = try freeze(store, from: 1, to: 2) }
    #expect { try freeze(store, from: 1, to: 2) } throws: {
      if case StoreError.tooManyFreezes = $0 { true } else { false }
    }
    go(2)
    _ = try freeze(store, from: 1, to: 2)
  }
}
