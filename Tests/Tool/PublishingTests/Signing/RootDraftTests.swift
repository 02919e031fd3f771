import Manifests
import System
import TestSupport
import Testing
import Trust
import Values

@testable import Publishing

/// Changes of roots, and which roots of an origin are believed.
@Suite struct RootDraftTests {
  /// The keys of an app.
  struct Keys {
    let root = KeyFile(P256PrivateKey())
    let spare = KeyFile(P256PrivateKey())
    let release = KeyFile(P256PrivateKey())
    let head = KeyFile(P256PrivateKey())

    func first() throws -> RootDraft {
      RootDraft(
        app: try AppName("shop"), environment: nil, roots: [root.key, spare.key], releases: [release.key],
        grant: RootDraft.Grant(keys: [release.key.id]), head: head.key)
    }

    func signed(_ root: TrustRoot, _ signers: KeyFile...) throws -> Signed<TrustRoot> {
      var signed = try Signed(root)
      for signer in signers { signed = try signed.signed(by: signer) }
      return signed
    }
  }

  private let keys = Keys()

  @Test func `the first root names the keys, and one of two signs the next`() throws {
    let root = try keys.first().root()
    #expect(root.number == .first)
    #expect(root.roots.threshold == 1 && Set(root.roots.keys) == [keys.root.key.id, keys.spare.key.id])
    #expect(root.prefetch == [keys.release.key.id] && root.heads == [keys.head.key.id])
    #expect(root.keys.count == 4)
    #expect(RootChain.failure(ofFirst: try keys.signed(root)) == .rootNewKeys)
    #expect(RootChain.failure(ofFirst: try keys.signed(root, keys.release)) == .rootNewKeys)
    #expect(RootChain.failure(ofFirst: try keys.signed(root, keys.spare)) == nil)
  }

  @Test func `a key comes before the other goes, in one draft`() throws {
    let first = try keys.first().root()
    var draft = try #require(RootDraft(after: first))
    #expect(draft.number.number == 2)
    #expect(throws: CeremonyError.tooFewKeys(of: "releases", left: 0, threshold: 1)) {
      var other = draft
      try other.removeKey(keys.release.key.id)
    }
    let new = KeyFile(P256PrivateKey())
    try draft.addKey(new.key, grant: nil, signsPrefetch: true)
    try draft.removeKey(keys.release.key.id)
    let second = try draft.root()
    #expect(second.grants.map(\.signers.keys) == [[new.key.id]] && second.prefetch == [new.key.id])
    #expect(second.keys[keys.release.key.id] == nil, "a key that nothing names is left out")
    #expect(
      RootChain.failure(of: .success(try keys.signed(second, keys.spare)), after: try keys.signed(first))
        == nil)
    #expect(
      RootChain.failure(of: .success(try keys.signed(second, new)), after: try keys.signed(first))
        == .rootOldKeys)
  }

  @Test func `floors are said once, and the next root leaves them as they are`() throws {
    var draft = try #require(RootDraft(after: keys.first().root()))
    let home = try BundleName("home")
    draft.setFloor(Serial(5), of: home)
    draft.setPrefetchFloor(Serial(6))
    let second = try draft.root()
    #expect(second.floors[home] == Serial(5) && second.prefetchFloor == Serial(6))
    #expect(try RootDraft(editing: second).root() == second)
    let third = try #require(RootDraft(after: second)).root()
    #expect(third.floors.isEmpty && third.prefetchFloor == nil)
  }

  @Test func `a stolen key's floors are those of all bundles that it could sign, live or not`() throws {
    var draft = try #require(RootDraft(after: keys.first().root()))
    let (pay, team) = (try #require(ReleaseGrant.BundlePattern("pay")), KeyFile(P256PrivateKey()))
    let pattern = try #require(ReleaseGrant.BundlePattern("activity-*"))
    try draft.addKey(
      team.key,
      grant: RootDraft.Grant(
        keys: [team.key.id], channels: .some([.online]), bundles: .some([pay, pattern])),
      signsPrefetch: false)
    let second = try draft.root()
    var next = try #require(RootDraft(after: second))
    next.setFloor(.zero, of: try BundleName("activity-2"))
    let test = try ChannelName("test")
    let known = try [
      KnownBundle(channel: .online, bundle: BundleName("activity-1")),
      KnownBundle(channel: .online, bundle: BundleName("activity-2")),
      KnownBundle(channel: test, bundle: BundleName("activity-3")),
      KnownBundle(channel: .online, bundle: BundleName("home")),
    ]
    let floor = try #require(Serial(9))
    #expect(next.setFloors(signedBy: team.key.id, under: second, known: known, to: floor).isEmpty)
    // One that was set on purpose stays, and one that no channel has is set if the grant has its whole name.
    let floors = Dictionary(uniqueKeysWithValues: next.floors.map { ($0.key.text, $0.value.number) })
    #expect(floors == ["activity-1": 9, "activity-2": 0, "pay": 9])
    #expect(next.prefetchFloor == nil)
    let many = try (0..<1001).map { KnownBundle(channel: test, bundle: try BundleName("b\($0)")) }
    var full = try #require(RootDraft(after: second))
    let left = full.setFloors(signedBy: keys.release.key.id, under: second, known: many, to: floor)
    #expect(left == [try BundleName("b1000")] && full.prefetchFloor == floor)
    #expect(try full.root().floors.count == TrustRoot.floorLimit)
  }

  @Test func `root keys sign nothing else, and enough of them stay`() throws {
    var draft = try #require(RootDraft(after: keys.first().root()))
    #expect(throws: CeremonyError.otherUse(keys.release.key.id)) { try draft.addRoot(keys.release.key) }
    #expect(throws: CeremonyError.otherUse(keys.root.key.id)) {
      try draft.addKey(keys.root.key, grant: nil, signsPrefetch: true)
    }
    #expect(throws: CeremonyError.otherUse(keys.root.key.id)) {
      try draft.setHead(keys.root.key, keepsOthers: false)
    }
    draft.setRootThreshold(2)
    #expect(throws: CeremonyError.tooFewKeys(of: "roots", left: 1, threshold: 2)) {
      var other = draft
      try other.removeRoot(keys.spare.key.id)
    }
    draft.setRootThreshold(3)
    #expect(throws: CeremonyError.tooFewKeys(of: "roots", left: 2, threshold: 3)) { try draft.root() }
  }

  @Test func `keys are found by the beginning of their ids`() throws {
    let draft = try keys.first()
    let id = keys.release.key.id
    #expect(try draft.key(id.text) == id)
    #expect(try draft.key(String(id.text.prefix(12)).uppercased()) == id)
    #expect(throws: CeremonyError.unknownKey("zzzz")) { try draft.key("zzzz") }
    #expect(throws: CeremonyError.shortKey("")) { try draft.key("") }
    #expect(throws: CeremonyError.shortKey("4")) { try draft.key("4") }
    var other = draft
    #expect(throws: CeremonyError.rootKey(keys.root.key.id)) { try other.removeKey(keys.root.key.id) }
    #expect(throws: CeremonyError.noRootKey(id)) { try other.removeRoot(id) }
    #expect("\(CeremonyError.rootKey(keys.root.key.id))".contains("xcache trust remove-root"))
  }

  @Test func `a scope of its own takes a key from where it was`() throws {
    var draft = try #require(RootDraft(after: keys.first().root()))
    let team = KeyFile(P256PrivateKey())
    let pattern = try #require(ReleaseGrant.BundlePattern("activity-*"))
    try draft.addKey(
      team.key, grant: RootDraft.Grant(keys: [team.key.id], bundles: .some([pattern])), signsPrefetch: false)
    let root = try draft.root()
    #expect(root.grants.count == 2 && root.prefetch == [keys.release.key.id])
    try draft.setScope(RootDraft.Grant(keys: [team.key.id], channels: .some([.online])))
    #expect(try draft.root().grants.map(\.channels) == [.all, .some([.online])])
    draft.setReleaseThreshold(2)
    #expect(throws: CeremonyError.tooFewKeys(of: "releases", left: 1, threshold: 2)) { try draft.root() }
  }

  // MARK: Chains

  private func file(_ signed: Signed<TrustRoot>) -> RootFile { RootFile(path: "root.json", signed: signed) }

  @Test func `an origin's roots are believed as far as they follow`() throws {
    let first = try keys.signed(keys.first().root(), keys.root)
    let second = try keys.signed(#require(RootDraft(after: first.document)).root(), keys.root)
    let third = try keys.signed(#require(RootDraft(after: second.document)).root(), keys.spare)
    let all = [first, second, third].enumerated().map { (number: Int64($0 + 1), envelope: $1.envelope.json) }
    #expect(try RootChain(from: file(first), through: all).roots == [first, second, third])
    #expect(try RootChain(from: file(second), through: all).roots == [second, third])
    #expect(try RootChain(from: file(first), through: []).newest == first)

    // A thief's keys, a root left out, another first root, an origin that was restored.
    let thief = Keys()
    let forged = try thief.signed(#require(RootDraft(after: first.document)).root(), thief.root)
    let withThief = [all[0], (number: 2, envelope: forged.envelope.json)]
    #expect(throws: CeremonyError.brokenChain(.first.next ?? .first, path: "root.json", .rootOldKeys)) {
      try RootChain(from: file(first), through: withThief)
    }
    #expect(throws: CeremonyError.brokenChain(third.document.number, path: "root.json", .rootNumber)) {
      try RootChain(from: file(first), through: [all[0], all[2]])
    }
    let other = try thief.signed(thief.first().root(), thief.root)
    #expect(throws: CeremonyError.otherRoot(.first, path: "root.json")) {
      try RootChain(from: file(other), through: all)
    }
    #expect(throws: CeremonyError.behind(newest: second.document.number, path: "root.json")) {
      try RootChain(from: file(third), through: Array(all.prefix(2)))
    }
  }

  @Test func `files are found by their names`() throws {
    let scratch = try Scratch()
    let folder = RootFolder(scratch.path)
    #expect(try folder.roots().isEmpty && folder.drafts().isEmpty)
    #expect(try RootFolder(scratch.path + "/none").roots().isEmpty)
    let first = try keys.signed(keys.first().root(), keys.root)
    let second = try Signed(#require(RootDraft(after: first.document)).root())
    #expect(folder.path(of: .first).hasSuffix("/root.json"))
    try DurableFile.write(RootFile.bytes(first), to: folder.path(of: .first))
    try DurableFile.write(RootFile.bytes(second), to: folder.draftPath(of: second.document.number))
    try scratch.write("root-key.json", "{}")
    #expect(try folder.roots().map(\.signed) == [first])
    #expect(try folder.drafts().map(\.signed) == [second])
    try scratch.write("root-7.json", "{}")
    #expect(throws: CeremonyError.self) { try folder.roots() }
  }
}
