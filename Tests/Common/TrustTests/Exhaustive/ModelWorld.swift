import Manifests
import System
import Values

@testable import Trust

/// A publisher, an attacker between it and a device, and the device.
struct ModelWorld: Hashable {
  // The publisher.
  var clock: Int64 = 1
  var version: Int64 = 1
  var contents = [0, 0]
  /// The statement of each bundle's content.
  var current: [ModelStatement]
  /// The number of the newest root. The second one takes all floors back, so that nothing but its keys protects from what was
  /// signed before.
  var root: Int64 = 1
  var documents: Int64 = 0
  var hasRenewed = false

  // What anyone knows.
  var statements: Set<ModelStatement>
  var heads: Set<ModelHead>
  var prefetches: Set<ModelPrefetch>

  // The attacker.
  var stolen: Set<UInt8> = []

  // The device.
  var device: TrustState
  var held: [ModelStatement] = []

  /// A publisher with a first release, and a device that holds nothing.
  init(_ library: ModelLibrary) throws {
    let statements = [0, 1].map {
      ModelStatement(bundle: $0, content: 0, serial: 1, signer: ModelKey.publisher)
    }
    current = statements
    self.statements = Set(statements)
    heads = []
    prefetches = [ModelPrefetch(config: 0, serial: 1, signer: ModelKey.publisher)]
    device = TrustState(builtIn: try library.root(.first).get())
    heads.insert(head)
  }

  var publisher: UInt8 { root == 1 ? ModelKey.publisher : ModelKey.newPublisher }

  /// The newest head.
  var head: ModelHead {
    ModelHead(
      version: version, contents: contents, policy: documents, prefetch: documents, at: clock,
      signer: root == 1 ? ModelKey.head : ModelKey.newHead)
  }
}

// MARK: - The publisher's acts

extension ModelWorld {
  /// What the publisher can do next.
  var publishing: [(name: String, world: ModelWorld)] {
    var acts: [(String, ModelWorld)] = []
    if contents[0] < 2 { acts.append(("publish a", publishing(0, contents[0] + 1, floor: false))) }
    if contents[1] < 1 { acts.append(("publish b, raising its floor", publishing(1, 1, floor: true))) }
    if contents[0] > 0, let old = statement(0, contents[0] - 1) {
      acts.append(("roll a back", rollingBack(to: old)))
    }
    if root == 1 { acts.append(("replace every key", replacingKeys)) }
    if !hasRenewed { acts.append(("renew the head", renewingHead)) }
    if documents == 0 { acts.append(("push a policy and a prefetch config", pushingDocuments)) }
    return acts
  }

  private func statement(_ bundle: Int, _ content: Int) -> ModelStatement? {
    statements.filter { $0.bundle == bundle && $0.content == content && $0.signer == publisher }
      .max { $0.serial < $1.serial }
  }

  private func releasing(_ change: (inout ModelWorld) -> Void) -> ModelWorld {
    var world = self
    world.clock += 1
    world.version += 1
    change(&world)
    world.statements.formUnion(world.current)
    world.heads.insert(world.head)
    return world
  }

  private func publishing(_ bundle: Int, _ content: Int, floor: Bool) -> ModelWorld {
    releasing {
      $0.contents[bundle] = content
      $0.current[bundle] = ModelStatement(
        bundle: bundle, content: content, serial: $0.clock, floor: floor ? $0.clock : 0, signer: publisher)
    }
  }

  private func rollingBack(to old: ModelStatement) -> ModelWorld {
    releasing {
      $0.contents[old.bundle] = old.content
      $0.current[old.bundle] = old
    }
  }

  var replacingKeys: ModelWorld {
    releasing { world in
      world.root = 2
      world.current = [0, 1].map {
        ModelStatement(
          bundle: $0, content: world.contents[$0], serial: world.clock, signer: ModelKey.newPublisher)
      }
      world.prefetches.insert(
        ModelPrefetch(config: Int(world.documents), serial: world.clock, signer: ModelKey.newPublisher))
    }
  }

  private var renewingHead: ModelWorld {
    releasing {
      $0.version -= 1
      $0.hasRenewed = true
    }
  }

  private var pushingDocuments: ModelWorld {
    releasing {
      $0.version -= 1
      $0.documents = 1
      $0.prefetches.insert(
        ModelPrefetch(config: 1, serial: $0.clock, floor: $0.clock, signer: publisher))
    }
  }
}

// MARK: - What an attacker can show

extension ModelWorld {
  /// Every head that anyone can have: published ones, another channel's, and those that stolen keys make.
  var knownHeads: [ModelHead] {
    var known = Array(heads)
    func add(
      _ contents: [Int], version: Int64? = nil, at: Int64? = nil, policy: Int64? = nil,
      prefetch: Int64? = nil,
      signer: UInt8 = ModelKey.head, claim: UInt8? = nil, isTest: Bool = false
    ) {
      known.append(
        ModelHead(
          isTest: isTest, version: version ?? self.version + 1, contents: contents,
          policy: policy ?? documents, prefetch: prefetch ?? documents, at: at ?? clock + 1, signer: signer,
          claim: claim))
    }
    add([ModelContent.test, contents[1]], isTest: true)
    add([ModelContent.evil, contents[1]], signer: ModelKey.thief)
    add([ModelContent.evil, contents[1]], signer: ModelKey.thief, claim: ModelKey.head)
    guard stolen.contains(ModelKey.head) else { return known }
    for content in [ModelContent.evil, ModelContent.foreign, ModelContent.test] {
      add([content, contents[1]])
    }
    for content in [ModelContent.evil, ModelContent.stray] { add([contents[0], content]) }
    for old in [0, 1] where old < contents[0] { add([old, contents[1]]) }
    if contents[1] > 0 { add([contents[0], 0]) }
    // A lower version, and an old policy, later; and the highest of everything in a far future.
    add(contents, version: 0, at: clock + 2)
    add(contents, version: version, at: clock + 2, policy: 0)
    add(contents, version: version, at: clock + 2, prefetch: 0)
    add(
      [ModelContent.evil, contents[1]], version: Decimal.limit, at: Decimal.limit, policy: Decimal.limit,
      prefetch: Decimal.limit)
    return known
  }

  /// Every statement that anyone can have.
  var knownStatements: [ModelStatement] {
    var known = Array(statements)
    func add(_ bundle: Int, _ content: Int, _ signer: UInt8, serial: Int64? = nil, floor: Int64 = 0) {
      known.append(
        ModelStatement(
          bundle: bundle, content: content, serial: serial ?? clock, floor: floor, signer: signer))
    }
    add(0, ModelContent.evil, ModelKey.thief)
    let publisher = ModelKey.publisher
    known.append(
      ModelStatement(
        bundle: 0, content: ModelContent.evil, serial: clock, signer: ModelKey.thief, claim: publisher))
    known.append(
      ModelStatement(
        isForeign: true, bundle: 0, content: ModelContent.foreign, serial: clock, signer: publisher))
    known.append(
      ModelStatement(isTest: true, bundle: 0, content: ModelContent.test, serial: clock, signer: publisher))
    if stolen.contains(ModelKey.publisher) {
      add(0, ModelContent.evil, ModelKey.publisher)
      add(0, ModelContent.evil, ModelKey.publisher, serial: Decimal.limit, floor: Decimal.limit)
    }
    if stolen.contains(ModelKey.team) {
      add(1, ModelContent.evil, ModelKey.team)
      add(1, ModelContent.evil, ModelKey.team, serial: Decimal.limit, floor: Decimal.limit)
      add(1, ModelContent.stray, ModelKey.team)
      add(0, ModelContent.evil, ModelKey.team)
    }
    return known
  }

  /// Every prefetch statement that anyone can have.
  var knownPrefetches: [ModelPrefetch] {
    var known = Array(prefetches)
    known.append(ModelPrefetch(config: ModelContent.evil, serial: clock, signer: ModelKey.thief))
    known.append(
      ModelPrefetch(
        isForeign: true, config: ModelContent.foreign, serial: clock, signer: ModelKey.publisher))
    if stolen.contains(ModelKey.team) {
      known.append(ModelPrefetch(config: ModelContent.evil, serial: clock, signer: ModelKey.team))
    }
    if stolen.contains(ModelKey.publisher) {
      known.append(
        ModelPrefetch(
          config: ModelContent.evil, serial: Decimal.limit, floor: Decimal.limit, signer: ModelKey.publisher))
    }
    return known
  }

  /// Every root that anyone can have.
  var knownRoots: [ModelRoot] { [.draft, .forged, .first, .foreign] + (root > 1 ? [.second] : []) }

  /// Every offer that can make a difference: a document by itself; and each manifest that a head names, or that differs from
  /// it in one thing, with each statement of its contents, without one, and with one of other content.
  var offers: [ModelOffer] {
    var offers = knownRoots.map { ModelOffer(roots: [$0]) }
    let heads = knownHeads
    for head in heads { offers.append(ModelOffer(head: head)) }
    for policy in 0...documents { offers.append(ModelOffer(policy: policy)) }
    for statement in knownPrefetches {
      for version in 0...documents {
        offers.append(ModelOffer(prefetch: statement, config: statement.config, prefetchVersion: version))
      }
    }
    offers.append(
      ModelOffer(
        prefetch: knownPrefetches[0], config: ModelContent.evil, prefetchVersion: documents))
    let statements = knownStatements
    for head in heads { offers += manifests(head, statements) }
    var untold = ModelOffer(head: head, statements: current, version: version, contents: contents)
    offers.append(untold)
    untold.head = nil
    offers.append(untold)
    untold.head = head
    untold.rootNumber = 2
    offers.append(untold)
    // The way out, with the statements of one bundle, or of none.
    untold.roots = [.second]
    for count in root > 1 ? [0, 1] : [] {
      untold.statements = Array(current.prefix(count))
      offers.append(untold)
    }
    return offers
  }

  private func manifests(_ head: ModelHead, _ statements: [ModelStatement]) -> [ModelOffer] {
    var offers: [ModelOffer] = []
    func matching(_ bundle: Int, _ content: Int) -> [ModelStatement] {
      statements.filter { $0.bundle == bundle && $0.content == content }
    }
    func add(_ chosen: [ModelStatement?], _ contents: [Int], _ version: Int64) {
      offers.append(
        ModelOffer(head: head, statements: chosen.compactMap { $0 }, version: version, contents: contents))
    }
    let choices = (0...1).map { matching($0, head.contents[$0]).map(Optional.some) + [nil] }
    for a in choices[0] {
      for b in choices[1] { add([a, b], head.contents, head.version) }
    }
    for other in statements where other.content != head.contents[other.bundle] {
      let rest = choices[1 - other.bundle][0]
      add([other, rest], head.contents, head.version)
      // The manifest that this statement is of, though the head names another one.
      var contents = head.contents
      contents[other.bundle] = other.content
      add([other, rest], contents, head.version)
    }
    add([choices[0][0], choices[1][0]], head.contents, head.version + (head.version < 10 ? 1 : -1))
    return offers
  }
}

/// What a device is given.
struct ModelOffer: Hashable {
  var rootNumber: Int64?
  var roots: [ModelRoot] = []
  var head: ModelHead?
  var statements: [ModelStatement] = []
  var version: Int64?
  var contents: [Int] = []
  var policy: Int64?
  var prefetch: ModelPrefetch?
  var config = 0
  var prefetchVersion: Int64 = 0

  func offer(_ library: ModelLibrary) throws -> TrustOffer {
    var offer = TrustOffer()
    offer.rootNumber = rootNumber.flatMap { RootNumber($0) }
    offer.roots = try roots.map { try library.root($0) }
    offer.head = try head.map { try library.head($0) }
    offer.releases = try statements.map { try library.statement($0) }
    if let version {
      let manifest = try library.manifest(contents)
      offer.manifest = TrustOffer.Manifest(
        version: ManifestVersion(version), digest: manifest.digest, items: manifest.items)
    }
    offer.policy = policy
    if let prefetch {
      offer.prefetch = TrustOffer.Prefetch(
        version: prefetchVersion, digest: library.config(config), statement: try library.prefetch(prefetch))
    }
    return offer
  }
}
