import Glibc
import Testing
import TestSupport

@Suite("Folders that can't be created: a clear message, and the command exits")
struct NoFolderTests {
  /// A path that can't be a folder, and the message about it.
  struct Place: Sendable, CustomTestStringConvertible {
    let path: String
    let says: String
    /// A device's message, where it is more specific.
    var deviceSays: String?
    var exitCode: Int32 = 1

    var testDescription: String { path.isEmpty ? "an empty name" : path }
  }

  static let places = [
    Place(path: "/proc/nowhere", says: "/proc/nowhere can't be created"),
    Place(path: "/proc/nowhere/at/all", says: "/proc/nowhere can't be created"),
    Place(path: "/proc/self/fd/nowhere/", says: "/proc/self/fd/nowhere can't be created"),
    Place(path: "file", says: "file is a file", deviceSays: "file: Not a directory"),
    Place(path: "file/below/it", says: "a file is in the way"),
    Place(path: "link", says: "link is a file or a dangling link"),
    Place(path: "link/below/it", says: "link is a file or a dangling link"),
    Place(path: "", says: "has an empty value", exitCode: 2),
  ]

  @Test("Every command that makes a folder", arguments: places)
  func refused(_ place: Place) throws {
    try Shared.site { shared throws in
      let site = shared.site
      let scratch = try Scratch()
      try scratch.write("file", "x")
      symlink("nothing", scratch.path + "/link")
      let backup = try Outcome(try site.start(["backup", "--data", site.data, "--to", "copy"], in: scratch))
      try #require(backup.exitCode == 0, "\(backup.errors)")
      for words in [
        ["serve", "--public-url", "http://127.0.0.1", "--listen", "127.0.0.1:0", "--data", place.path],
        ["pull", "--app", "shop", "--to", place.path],
        ["mirror", "--data", site.data, "--to", place.path],
        ["backup", "--data", site.data, "--to", place.path],
        ["restore", "--from-backup", "copy", "--data", place.path],
      ] {
        let outcome = try Outcome(try site.start(words, in: scratch))
        #expect(outcome.exitCode == place.exitCode, "\(words): \(outcome.exitCode) \(outcome.errors)")
        let says = words[0] == "pull" ? place.deviceSays ?? place.says : place.says
        #expect(outcome.errors.contains(says), "\(words): \(outcome.errors)")
      }
      #expect(try Scratch.contents(scratch.path).keys.filter { !$0.hasPrefix("copy/") } == ["file"])
    }
  }
}
