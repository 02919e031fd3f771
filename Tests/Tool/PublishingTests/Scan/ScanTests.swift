import BuildCheck
import Glibc
import Manifests
import Testing
import TestSupport

@testable import Publishing

@Suite struct ScanTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  @Test func filesAreSortedByName() throws {
    for name in ["b.js", "a/z.css", "a/é.css", "a b/%.txt", ".well-known/x", "Z"] {
      try folder.write(name, name)
    }
    let files = try Scan.files(in: folder.path)
    #expect(files.map(\.path) == [".well-known/x", "Z", "a/z.css", "a/é.css", "a b/%.txt", "b.js"])
    #expect(files[1].location == "\(folder.path)/Z")
    #expect(try Scan.files(in: folder.path + "//").map(\.location) == files.map(\.location))
  }

  @Test func versionControlIsNeverPublished() throws {
    for name in [".git/config", "a/.svn/x", ".DS_Store", "a/.DS_Store", ".hg/x", "git/a"] {
      try folder.write(name, "x")
    }
    #expect(try Scan.files(in: folder.path).map(\.path) == ["git/a"])
  }

  @Test func includeAndExclude() throws {
    for name in ["a.js", "a.js.map", "lib/b.js", "lib/deep/c.js", "notes.txt"] { try folder.write(name, "x") }
    let filter = FileFilter(
      include: [try #require(Glob("*.js")), try #require(Glob("*.map"))],
      exclude: [try #require(Glob("lib/deep"))])
    #expect(try Scan.files(in: folder.path, filter).map(\.path) == ["a.js", "a.js.map", "lib/b.js"])
  }

  @Test func linksWithinTheFolderAreFollowed() throws {
    try folder.write("real/a.js", "x")
    folder.link("b.js", to: "real/a.js")
    folder.link("copy", to: "\(folder.path)/real")
    #expect(try Scan.files(in: folder.path).map(\.path) == ["b.js", "copy/a.js", "real/a.js"])
  }

  @Test func linkedFolderCanBePublished() throws {
    try folder.write("real/a.js", "x")
    folder.link("root", to: "real")
    #expect(try Scan.files(in: folder.path + "/root").map(\.path) == ["a.js"])
  }

  @Test func linksOutOfTheFolderAreErrors() throws {
    try folder.write("site/a.js", "x")
    let secret = try folder.write("site2/secret", "x")
    folder.link("site/out", to: "../site2/secret")
    #expect(
      words { _ = try Scan.files(in: folder.path + "/site") }
        == "the symbolic link \(folder.path)/site/out points outside the folder, to \(secret): copy its target, or exclude it"
    )
    let filter = FileFilter(exclude: [try #require(Glob("out"))])
    #expect(try Scan.files(in: folder.path + "/site", filter).count == 1)
  }

  @Test func danglingAndCircularLinks() throws {
    try folder.write("a/x", "x")
    folder.link("a/dead", to: "nowhere")
    #expect(words { _ = try Scan.files(in: folder.path + "/a") }?.contains("a/dead leads to nothing") == true)
    try folder.write("b/x", "x")
    folder.link("b/self", to: "self")
    #expect(
      words { _ = try Scan.files(in: folder.path + "/b") }?.contains("b/self leads back to itself") == true)
    try folder.write("c/d/x", "x")
    folder.link("c/d/up", to: "..")
    #expect(words { _ = try Scan.files(in: folder.path + "/c") }?.contains("up leads back to itself") == true)
  }

  @Test func invalidFolders() throws {
    let path = folder.path
    #expect(
      words { _ = try Scan.files(in: path) }
        == "\(path) contains no files to publish; use `xcache unpublish --bundle NAME` to remove a bundle")
    #expect(words { _ = try Scan.files(in: path + "/no") } == "no such folder: \(path)/no")
    try folder.write("file", "x")
    #expect(
      words { _ = try Scan.files(in: path + "/file") }?.contains("is neither a folder nor a zip") == true)
    mkfifo("\(path)/pipe", 0o600)
    #expect(
      words { _ = try Scan.files(in: path) }?.contains("\(path)/pipe is neither a file nor a folder") == true)
  }

  @Test func namesThatAreNotUTF8() throws {
    var name = Array("\(folder.path)/".utf8CString.dropLast())
    name += [CChar(bitPattern: 0xFF), 0]
    close(creat(name, 0o600))
    #expect(words { _ = try Scan.files(in: folder.path) }?.contains("isn't UTF-8") == true)
  }

  @Test func unreadableFileIsNamed() throws {
    let path = try folder.write("secret.js", "x")
    let files = try Scan.files(in: folder.path)
    // Root can read every file, so the test deletes it instead.
    let isRoot = geteuid() == 0
    if isRoot { unlink(path) } else { chmod(path, 0) }
    let reason = isRoot ? "No such file or directory" : "Permission denied"
    #expect(
      words { _ = try FileHashing(threads: 1).digests(of: files) } == "\(path) can't be read: \(reason)")
  }
}

/// The message of the error that `body` throws.
func words(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch let error as PublishError {
    return error.message
  } catch {
    return "\(error)"
  }
}
