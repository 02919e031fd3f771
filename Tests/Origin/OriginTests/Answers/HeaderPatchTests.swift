import Archive
import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Headers removed by a release: a merge patch keeps members that it doesn't name.
@Suite struct HeaderPatchTests {
  private let origin: TestOrigin

  /// Version 1 has two headers, 2 one, 3 none, 4 two again.
  init() throws {
    origin = try TestOrigin()
    let both = EntryHeaders([.xFrameOptions: try .init("DENY"), .referrerPolicy: try .init("no-referrer")])
    // With many others, so that a patch is smaller than the whole.
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).js", "\($0)") }))
    try publish(both)
    try check(polled: 1, 2)
    try publish(EntryHeaders([.xFrameOptions: try .init("DENY")]))
    try check(polled: 2, 3)
    try publish(EntryHeaders())
  }

  private func publish(_ headers: EntryHeaders) throws {
    let reply = try origin.publish(["p.html": "page"], headers: headers)
    #expect(reply.status == 200 || reply.status == 201)
  }

  private func check(_ document: [UInt8], _ base: Int64, _ version: Int64) throws {
    guard case .patch(let answer) = try ConfigureAnswer.parse(document) else {
      Issue.record("\(base) to \(version) is no patch")
      return
    }
    let (patched, there) = (try origin.manifest(base).applying(answer), try origin.manifest(version))
    #expect(patched == there)
  }

  private func check(polled base: Int64, _ version: Int64) throws {
    try check(try origin.ask("GET", "/configure.json?app=shop&version=\(base)&patch=1").body, base, version)
  }

  @Test func pollsMirrorsAndZips() throws {
    try check(polled: 3, 4)
    try check(polled: 2, 4)
    try check(polled: 1, 4)
    let channel = try origin.store.channel(try AppName("shop"), .online)
    for (base, version) in [(1, 2), (2, 3), (3, 4), (2, 4), (1, 4)] as [(Int64, Int64)] {
      let document = try origin.store.patchDocument(
        channel, from: ManifestVersion(base), to: ManifestVersion(version), extras: AnswerExtras())
      try check(document, base, version)
      // Only updates to the newest version have zips.
      for end in version == 4 ? [".zip", ".delta.zip"] : [] {
        let reply = try origin.ask("GET", "/xcache/shop/bundle/\(base)-\(version)\(end)")
        try #require(reply.status == 200, "\(base)-\(version)\(end): \(reply.text)")
        let archive = try Archive(ArchiveBytes(reply.body))
        let entry = try #require(archive.entries.first { $0.name == "patch.json" })
        try check(try archive.bytes(of: entry, limit: 1 << 20), base, version)
      }
    }
  }

  @Test func rollbacks() throws {
    try publish(EntryHeaders([.xFrameOptions: try .init("DENY")]))
    let preview = try origin.api(
      "POST", "apps/shop/channels/online/rollback", ["allBundles": true, "dryRun": true, "to": "4"])
    let patch = try #require(preview.json["patch"])
    #expect(preview.json["changes"] == ["https://m.example.com/p.html": "changed"])
    let now = try JSONValue.parse(try origin.manifest(5).map.bytes)
    let target = try origin.manifest(4).map.bytes
    #expect(MergePatch.apply(patch, to: now).canonical == target)
    let reply = try origin.api("POST", "apps/shop/channels/online/rollback", ["allBundles": true, "to": "4"])
    #expect(reply.status == 200 || reply.status == 201)
    for base in 2...5 as ClosedRange<Int64> { try check(polled: base, 6) }
  }
}
