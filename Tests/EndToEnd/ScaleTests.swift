import System
import Testing
import Values

/// The cost of an update depends on the change, not on the size of the bundle: what can be counted. Benchmarks/scale.sh measures times.
@Suite("One changed file in a large bundle")
struct ScaleTests {
  struct Costs {
    let filesRead: Int64
    let uploaded: Int64
    let sentBytes: Int64
    /// Sizes of the answers to polls of a device one version behind, and of one that is up to date.
    let patchBytes: Int
    let nothingBytes: Int
  }

  private static func costs(of count: Int) throws -> Costs {
    try Site.with { site throws in
      let files = Files(
        uniqueKeysWithValues: (0..<count).map { ("d\($0 / 100)/f\(100_000 + $0).js", "export default \($0)") }
      )
      let folder = try site.scratch.folder("site", files)
      // The hash cache trusts files that are at least two seconds old.
      Clock.sleep(for: .milliseconds(2050))
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
        "--json",
      ]
      #expect(try site.start(words).wait() == 0)
      try site.scratch.write("site/d0/f100000.js", "export default 'changed'")
      let outcome = try Outcome(try site.start(words))
      let answer = try JSONValue.parse(Array(outcome.output.utf8))
      #expect(answer["version"]?.string == "2" && answer["changed_count"]?.integer == 1)
      return Costs(
        filesRead: answer["filesRead"]?.integer ?? 0, uploaded: answer["uploaded"]?.integer ?? 0,
        sentBytes: answer["sentBytes"]?.integer ?? 0,
        patchBytes: try site.web.ask("/configure.json?app=shop&version=1&patch=1").body.count,
        nothingBytes: try site.web.ask("/configure.json?app=shop&version=2&patch=1").body.count)
    }
  }

  @Test("Only the changed file is read, sent and in the answer, whatever the bundle's size")
  func oneFile() throws {
    let small = try Self.costs(of: 20)
    let large = try Self.costs(of: 2_000)
    #expect(small.filesRead == 1 && large.filesRead == 1)
    #expect(small.uploaded == 1 && large.uploaded == 1)
    // The number of requests for the preparation's state depends on the machine: each has the body `{"id":"…"}`.
    #expect((large.sentBytes - small.sentBytes) % 41 == 0 && large.sentBytes < 2_000)
    #expect(large.patchBytes == small.patchBytes && large.patchBytes < 1_000)
    #expect(large.nothingBytes == small.nothingBytes)
  }
}
