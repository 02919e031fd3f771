import Manifests
import Store
import Testing

@testable import Mirror

@Suite struct IndexTests {
  @Test func whatIsWrittenIsRead() throws {
    let file = MirrorIndex.File(sha256: .of([1]), size: 1)
    let channel = MirrorIndex.Channel(
      app: try AppName("shop"), appID: 3, channel: .online, publicURL: try BaseURL("https://cdn.test/x"),
      version: ManifestVersion(7), digest: .of([2]), versions: [ManifestVersion(6), ManifestVersion(7)],
      inputs: .of([3]),
      files: [("xcache/3/7/1/u/https%3A%2F%2Fa.test%2F", file), ("xcache/shop/version.json", file)])
    let index = MirrorIndex(
      origin: "abc", defaultApp: try AppName("shop"), at: 12,
      audit: AuditHead(row: 17, hash: .of([4])), channels: [channel], leaving: ["xcache/old": 4])
    let read = try MirrorIndex(parsing: index.document)
    #expect(read.document == index.document)
    #expect(read.channels[0].files.map(\.path) == channel.files.map(\.path))
    #expect(read.leaving == index.leaving && read.audit == index.audit)
    #expect(try JSONValue.parse(index.document).canonical == index.document)
  }

  @Test(arguments: ["../etc/passwd", "/etc/passwd", "a//b", "a/./b", "", "a/../../b"])
  func pathsStayBelowTheRoot(path: String) {
    #expect(!MirrorPath.isSafe(path))
  }
}
