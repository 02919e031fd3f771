import Archive
import Glibc
import Manifests
import System
import Testing

@testable import Publishing

/// Zips instead of folders.
@Suite(.serialized) struct ZipTests {
  let bench: PublisherTests

  init() throws { bench = try PublisherTests() }

  private func zip(_ name: String, _ files: [String: String]) throws {
    let path = "\(bench.folder.path)/\(name)"
    let sink = ArchiveFileSink(try Kernel.open(path, [.write, .create, .truncate]), path: path)
    let inputs = files.sorted { $0.key < $1.key }.map { ArchiveInput($0.key, bytes: Array($0.value.utf8)) }
    try Archive.write(inputs, threads: 1, to: sink)
    _ = try sink.finish()
  }

  @Test(arguments: ["site.zip", "site"]) func zipIsPublishedLikeTheFolderOfItsFiles(_ name: String) throws {
    let files = ["index.html": "<p>", "a/app.js": "let a", "a/ü b.css": "c"]
    try zip(name, files.merging(["__MACOSX/._app.js": "x", "a/.DS_Store": "y"]) { $1 })
    for (path, text) in files { try bench.folder.write("plain/\(path)", text) }
    let result = try bench.publish([bench.bundle("main", name)])
    #expect(result.added == 3)
    try bench.expectMirrored("main", "plain")
    let again = try bench.publish([bench.bundle("main", "plain")])
    #expect(!again.answer.isChanged)
  }

  @Test func noTemporaryFilesAreLeft() throws {
    let before = try Self.leftovers()
    try zip("site.zip", ["a": "1", "b/c": "2"])
    for _ in 0..<2 { try bench.publish([bench.bundle("main", "site.zip")]) }
    #expect(throws: PublishError.self) {
      try bench.publisher(token: "wrong").publish(
        [bench.bundle("main", "site.zip")], to: try bench.channel)
    }
    #expect(try Self.leftovers().subtracting(before).isEmpty)
    #expect((try? Folder.textNames(bench.folder.path + "/cache/hashes"))?.isEmpty ?? true)
  }

  private static func leftovers() throws -> Set<String> {
    let names = try Folder.textNames(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")
    return Set(names.filter { $0.hasPrefix("xcache-\(getpid())-") })
  }

  @Test func invalidZipsAreRefusedWithTheirName() throws {
    try zip("good.zip", ["a": "1"])
    let good = try #require(try DurableFile.read(bench.folder.path + "/good.zip"))
    try bench.folder.write("cut.zip", good.dropLast(4))
    try bench.folder.write("text.zip", "no zip")
    try bench.folder.write("text", "no zip")
    try zip("empty.zip", [:])
    let cases = [
      ("cut.zip", "can't be published: it is not a zip file, or it is truncated"),
      ("text.zip", "can't be published: it is not a zip file"), ("text", "is neither a folder nor a zip"),
      ("empty.zip", "contains no files to publish"), ("none.zip", "no such folder:"),
    ]
    for (name, words) in cases {
      #expect {
        try bench.publish([bench.bundle("main", name)])
      } throws: { error in
        let message = (error as? PublishError)?.message ?? ""
        return message.contains(words) && message.contains(name)
      }
    }
    #expect(bench.origin.with { $0.releases.isEmpty })
  }
}
