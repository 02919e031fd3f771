import Manifests
import Store
import System
import Testing
import Trust
import Values

@testable import Mirror

@Suite("Restoring an origin of apps with a root")
struct SignedRestoreTests {
  private static let files = ["index.html": "<p>signed", "app.1.js": "run(1)", "same.css": "p{}"]

  @Test("Roots, statements, floors and the head come back from a copy", arguments: [0, 5])
  func copy(keep: Int) throws {
    let signed = try SignedBench()
    try signed.release(Self.files.merging(["more.js": "1"]) { $1 }, 30, floor: 25)
    try signed.release(Self.files, 40)
    try signed.bench.mirror { $0.keep = keep }
    let store = try Store(path: signed.bench.folder + "/new")
    let report = try Restoration(from: FolderReader(signed.bench.www)).restore(into: store)
    #expect(report.isWhole && report.roots.map(\.text) == ["shop"])
    let shop = try signed.bench.shop(store)
    #expect(try shop.digest == signed.shop.digest)
    #expect(try store.trust(of: shop.app)?.roots.map(\.signed) == [signed.root])
    let bundles = try store.bundleTrust(of: shop, at: shop.version)
    #expect(bundles.map(\.bundle.text) == ["main"] && bundles.allSatisfy { $0.problem == nil })
    #expect(try store.headDocument(of: shop) == signed.head().envelope.bytes)
    // All is there but the key for heads, which is in no copy.
    #expect(
      try store.checkup(deep: true).findings.filter { $0.kind == .damage }.map(\.code) == ["head-key"])
    // Devices may have seen a policy of any number below.
    #expect(try store.extras(of: shop).policy?.version == 1000)
    // The floor of a statement that the newest version doesn't have: a release below it is refused.
    #expect(throws: StoreError.self) {
      try signed.release(Self.files.merging(["other.js": "1"]) { $1 }, 24, into: store)
    }
    try signed.release(Self.files.merging(["other.js": "1"]) { $1 }, 50, into: store)
  }

  @Test("A copy without one of its roots restores nothing of the channel") func lostRoot() throws {
    let signed = try SignedBench()
    try signed.bench.mirror()
    try Kernel.remove(signed.path("root/1.json"))
    #expect(throws: MirrorError.self) {
      let store = try Store(path: signed.bench.folder + "/new")
      _ = try Restoration(from: FolderReader(signed.bench.www)).restore(into: store)
    }
  }

  @Test("A backup has the keys for heads only if asked, and encrypted") func keys() throws {
    let signed = try SignedBench()
    let (plain, secret) = (signed.bench.folder + "/plain", signed.bench.folder + "/secret")
    let without = try signed.store.backUp(to: plain)
    #expect(without.keys == 0 && without.keysLeft == 1)
    #expect(try Kernel.status(plain + "/keys") == nil)
    let phrase = Array("correct horse".utf8)
    #expect(try signed.store.backUp(to: secret, keys: .passphrase(phrase)).keys == 1)
    let names = try Folder.textNames(secret + "/keys")
    #expect(names.count == 1)
    let pem = try #require(try DurableFile.read("\(secret)/keys/\(names[0])"))
    #expect(P256PrivateKey.isEncrypted(pem))
    #expect(try Kernel.status("\(secret)/keys/\(names[0])")?.mode == 0o600)
    #expect(try Restore.takesKeys(backup: secret, passphrase: phrase))
    #expect(try !Restore.takesKeys(backup: secret, passphrase: [1]))

    let left = try Restore.restore(backup: secret, to: signed.bench.folder + "/left")
    #expect(left.keys == 0 && left.keysLeft == 1)
    let all = try Restore.restore(
      backup: secret, to: signed.bench.folder + "/all", keyPassphrase: phrase)
    #expect(all.keys == 1 && all.keysLeft == 0)
    let store = try Store(path: signed.bench.folder + "/all")
    #expect(try store.headKeys() == signed.store.headKeys())
    let shop = try signed.bench.shop(store)
    // Its policy has a number that no device has seen, and the head says so.
    #expect(try store.renewHead(of: shop.id))
    let head = try Signed<TrustHead>(parsing: try #require(try store.headDocument(of: shop))).document
    #expect(head.policy == 1000 && head.version == ManifestVersion(4))
    // No backup has a key that signs as it is, and nothing is wrong with that.
    var options = Store.Options()
    options.isSecondary = true
    for backup in [plain, secret] {
      let checkup = try Store(path: backup, options: options).checkup(deep: false)
      #expect(checkup.isClean && checkup.findings.contains { $0.code == "head-key" })
    }
  }
}
