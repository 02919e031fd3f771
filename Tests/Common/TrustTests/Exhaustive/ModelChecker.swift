import Manifests
import System
import Values

@testable import Trust

/// Plays every sequence of acts up to a depth against the real check, each state once, and says what went wrong first.
final class ModelChecker {
  /// What must not happen, and how it came about.
  struct Violation: Error, CustomStringConvertible {
    let what: String
    var path: [String] = []
    var description: String { "\(what) after: \(path.joined(separator: "; "))" }
  }

  private let library: ModelLibrary
  private let check: TrustCheck<Symbolic.Verifier>
  /// The number of states that were seen, and of offers that were checked.
  private(set) var states = 0
  private(set) var checks = 0

  init(omitting omitted: Set<TrustFailure> = []) throws {
    library = try ModelLibrary()
    check = TrustCheck(place: library.place, verifier: Symbolic.Verifier(), omitting: omitted)
  }

  /// - Returns: the first violation; nil if there is none within `depth` acts.
  func search(depth: Int) throws -> Violation? {
    var level: [(world: ModelWorld, path: [String])] = try beginnings().map { ($0, []) }
    var seen = Set(level.map(\.world))
    for step in 0...depth {
      var next: [(world: ModelWorld, path: [String])] = []
      for (world, path) in level {
        states += 1
        do {
          try checkRecovery(of: world)
          if step == depth { continue }
          for (name, world) in try acts(of: world) where seen.insert(world).inserted {
            next.append((world, path + [name]))
          }
        } catch var violation as Violation {
          violation.path = path + violation.path
          return violation
        }
      }
      level = next
    }
    return nil
  }

  /// A device that holds nothing; one that holds and has proved a release of each bundle, of which one has raised its floor;
  /// and one on which this came after all keys were replaced. Each with any keys stolen.
  private func beginnings() throws -> [ModelWorld] {
    let new = try ModelWorld(library)
    let worlds =
      [new]
      + (try [new, new.replacingKeys].map { world in
        let names = ["push a policy and a prefetch config", "publish b, raising its floor"]
        var world = world
        for name in names { world = world.publishing.first { $0.name == name }?.world ?? world }
        world = try poll(world)
        world.device.recordProof(in: .online)
        return world
      })
    let keys = [ModelKey.publisher, ModelKey.team, ModelKey.head]
    return worlds.flatMap { world in
      (0..<8).map { bits in
        var world = world
        world.stolen = Set(keys.indices.filter { bits >> $0 & 1 == 1 }.map { keys[$0] })
        return world
      }
    }
  }

  private func acts(of world: ModelWorld) throws -> [(name: String, world: ModelWorld)] {
    var acts = world.publishing
    for offer in world.offers {
      if let next = try taking(offer, world) { acts.append(("deliver \(offer)", next)) }
    }
    var proved = world
    proved.device.recordProof(in: .online)
    if proved.device != world.device {
      try require(floors(of: proved.device, notBelow: world.device), "a floor fell with a proof", "prove")
      acts.append(("prove", proved))
    }
    return acts
  }

  /// - Returns: the world after a device was given something; nil if it stays as it is.
  private func taking(_ model: ModelOffer, _ world: ModelWorld) throws -> ModelWorld? {
    checks += 1
    let offer = try model.offer(library)
    let verdict = check.check(offer, state: world.device, now: library.time(world.clock))
    var next = world
    next.device = verdict.state
    if let releases = verdict.releases {
      next.device.take(releases)
      next.held = releases.keys.compactMap { name in
        let bundle = library.bundles.firstIndex(of: name) ?? 0
        return model.statements.last { $0.bundle == bundle } ?? world.held.first { $0.bundle == bundle }
      }.sorted { $0.bundle < $1.bundle }
    }
    try judge(model, world, verdict)
    return next == world ? nil : next
  }

  private func require(_ holds: Bool, _ what: String, _ last: @autoclosure () -> String) throws {
    if !holds { throw Violation(what: what, path: [last()]) }
  }
}

// MARK: - What must hold, by who really signed what

extension ModelChecker {
  private func judge(_ offer: ModelOffer, _ world: ModelWorld, _ verdict: TrustVerdict) throws {
    func require(_ holds: Bool, _ what: String) throws {
      try self.require(holds, what, "deliver \(offer)")
    }
    let (before, after) = (world.device, verdict.state)
    let number = after.root.number.number
    if after.root != before.root {
      try require(number > before.root.number.number, "the root fell")
      try require(
        world.root == 2 && offer.roots == [.second], "a root that nobody has put in force was taken")
    } else {
      try require(floors(of: after, notBelow: before), "a floor fell")
    }
    try judgeHead(offer, before, after, require)
    guard verdict.isGood else { return }
    try require(offer.rootNumber ?? 0 <= number, "something was taken though a newer root is known of")
    if offer.version != nil { try judgeManifest(offer, world, verdict, require) }
    if let policy = offer.policy {
      try require(policy >= after.head?.head.policy ?? 0, "an old policy was taken")
    }
    if let prefetch = offer.prefetch {
      try require(prefetch.signer == publisher(number), "a prefetch config by a wrong key was taken")
      try require(!prefetch.isForeign, "another app's prefetch config was taken")
      try require(prefetch.config == offer.config, "a prefetch config was taken that nobody signed")
      let floor = after.root == before.root ? before.prefetchFloor.number : 0
      try require(prefetch.serial >= floor, "a prefetch config below the floor was taken")
      try require(offer.prefetchVersion >= after.head?.head.prefetch ?? 0, "an old prefetch config was taken")
    }
  }

  private func judgeHead(
    _ offer: ModelOffer, _ before: TrustState, _ after: TrustState, _ require: (Bool, String) throws -> Void
  ) throws {
    if let old = before.head, before.root == after.root {
      try require(after.head != nil, "a head was forgotten")
      let new = after.head ?? old
      try require(new.head.at >= old.head.at, "a head fell")
      try require(
        new.head.version >= old.head.version && new.head.policy >= old.head.policy
          && new.head.prefetch >= old.head.prefetch, "what a head names fell")
    }
    guard let head = after.head, head != before.head else { return }
    let key = after.root.number == .first ? ModelKey.head : ModelKey.newHead
    try require(offer.head?.signer == key, "a head by a wrong key was taken")
    try require(offer.head?.isTest == false, "another channel's head was taken")
  }

  private func judgeManifest(
    _ offer: ModelOffer, _ world: ModelWorld, _ verdict: TrustVerdict,
    _ require: (Bool, String) throws -> Void
  ) throws {
    let after = verdict.state
    let digest = try library.manifest(offer.contents).digest
    try require(
      after.head?.head.version.number == offer.version && after.head?.head.digest == digest,
      "a manifest was taken that the newest head doesn't name")
    for (bundle, content) in offer.contents.enumerated() {
      let statement =
        offer.statements.last { $0.bundle == bundle } ?? world.held.first { $0.bundle == bundle }
      guard let statement else { return try require(false, "content was taken without a statement") }
      try require(statement.content == content, "content was taken that nobody signed")
      try require(!statement.isForeign, "another app's content was taken")
      try require(!statement.isTest, "another channel's content was taken")
      try require(isAllowed(statement, under: after.root.number.number), "content by a wrong key was taken")
      try require(
        statement.serial >= after.floor(of: library.bundles[bundle]).number, "content below a floor was taken"
      )
    }
  }

  private func publisher(_ root: Int64) -> UInt8 { root == 1 ? ModelKey.publisher : ModelKey.newPublisher }

  private func isAllowed(_ statement: ModelStatement, under root: Int64) -> Bool {
    if statement.signer == publisher(root) { return true }
    return root == 1 && statement.signer == ModelKey.team && statement.bundle == 1
      && statement.content != ModelContent.stray
  }

  private func floors(of state: TrustState, notBelow old: TrustState) -> Bool {
    library.bundles.allSatisfy { state.floor(of: $0) >= old.floor(of: $0) }
      && state.prefetchFloor >= old.prefetchFloor
  }
}

// MARK: - The way out

extension ModelChecker {
  /// Whatever has happened: once the publisher has replaced its keys, if any was stolen, one poll over an honest network brings
  /// the device to what the publisher means.
  private func checkRecovery(of world: ModelWorld) throws {
    var honest = world
    if !honest.stolen.isEmpty, honest.root == 1 { honest = honest.replacingKeys }
    honest = try poll(honest)
    honest.device.recordProof(in: .online)
    // And it stays there.
    _ = try poll(honest)
  }

  private func poll(_ world: ModelWorld) throws -> ModelWorld {
    let config = Int(world.documents)
    let prefetch = world.prefetches.filter { $0.config == config && $0.signer == world.publisher }
      .max { $0.serial < $1.serial }
    var offer = ModelOffer(
      rootNumber: world.root, head: world.head, statements: world.current, version: world.version,
      contents: world.contents, policy: world.documents, prefetch: prefetch, config: config,
      prefetchVersion: world.documents)
    if world.device.root.number.number < world.root { offer.roots = [.second] }
    let failure = check.check(
      try offer.offer(library), state: world.device, now: library.time(world.clock)
    ).failure
    try require(failure == nil, "an honest poll fails with \(failure?.rawValue ?? "")", "poll \(offer)")
    return try taking(offer, world) ?? world
  }
}
