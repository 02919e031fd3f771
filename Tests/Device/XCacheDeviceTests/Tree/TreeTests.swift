import DeviceTestSupport
import Glibc
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

@Suite struct TreeTests {
  let bench: Bench
  var tree: String { "\(bench.scratch.path)/device/tree" }

  init() throws { bench = try Bench() }

  @Test(arguments: [
    ("https://m.test/app/a.js", "a.js"), ("https://m.test/app/x/y%20z.js", "x/y z.js"),
    ("https://m.test/app/%E4%BD%A0.js", "你.js"), ("https://m.test/app/100%25%23%3F.js", "100%#?.js"),
    ("https://m.test/app/a%5Cb", "a\\b"), ("https://m.test/app/.well-known/x", ".well-known/x"),
  ])
  func paths(url: String, path: String) throws {
    #expect(TreePath(try ResourceURL(url), below: try BaseURL("https://m.test/app/"))?.text == path)
  }

  @Test(arguments: [
    "https://m.test/app/", "https://m.test/app/dir/", "https://m.test/app/a//b", "https://m.test/app/a?q",
    "https://m.test/app/..%2Fx", "https://m.test/app/x%2F..%2F..%2Fy", "https://m.test/app/%00",
    "https://m.test/app/%FF", "https://m.test/application/x", "https://m.test/other", "http://m.test/app/x",
    "https://m.test/app", "https://m.test/app/a%zz",
  ])
  func urlsWithoutAPath(url: String) throws {
    #expect(TreePath(try ResourceURL(url), below: try BaseURL("https://m.test/app")) == nil)
  }

  private func url(_ path: String) -> String { "https://m.test/app/\(path)" }

  @Test func treeFollowsTheManifest() throws {
    try bench.origin.publish([
      url("index.html"): bytes("home"), url("js/a%20b.js"): bytes("js"), url("old/deep/x"): bytes("x"),
      "https://elsewhere.test/app/y": bytes("y"), url("dir/"): bytes("home"),
    ])
    let device = try bench.device()
    _ = try device.update()
    var report = try device.writeTree(below: "https://m.test/app/")
    #expect(report.written == 3 && report.removed == 0 && report.skipped == [url("dir/")])
    #expect(
      try Scratch.contents(tree) == [
        "index.html": bytes("home"), "js/a b.js": bytes("js"), "old/deep/x": bytes("x"),
      ])

    try bench.origin.publish([url("index.html"): bytes("home"), url("js/a%20b.js"): bytes("new")])
    _ = try device.update(force: true)
    report = try device.writeTree(below: "https://m.test/app")
    #expect(report.written == 1 && report.unchanged == 1 && report.removed == 1)
    #expect(try Scratch.contents(tree) == ["index.html": bytes("home"), "js/a b.js": bytes("new")])
    #expect(try Folder.textNames(tree) == ["index.html", "js"])
  }

  @Test func changesInTheTreeAreUndone() throws {
    try bench.origin.publish([url("a"): bytes("aa"), url("b/c"): bytes("cc"), url("d"): bytes("dd")])
    let device = try bench.device()
    _ = try device.update()
    _ = try device.writeTree(below: "https://m.test/app")
    try Scratch.write("xx", to: "\(tree)/a")
    try Kernel.remove("\(tree)/d")
    try Scratch.write("stray", to: "\(tree)/d/e/f")
    let report = try device.writeTree(below: "https://m.test/app")
    #expect(report.written == 2 && report.unchanged == 1 && report.removed == 1)
    #expect(try Scratch.contents(tree) == ["a": bytes("aa"), "b/c": bytes("cc"), "d": bytes("dd")])
  }

  @Test func linksInTheTreeAreNotFollowed() throws {
    try bench.origin.publish([url("a"): bytes("new"), url("b/c"): bytes("new")])
    let device = try bench.device()
    _ = try device.update()
    let outside = "\(bench.scratch.path)/outside"
    try Scratch.write("mine", to: "\(outside)/c")
    try Kernel.makeFolder(tree)
    symlink("\(outside)/c", "\(tree)/a")
    symlink(outside, "\(tree)/b")
    symlink(outside, "\(tree)/gone")
    _ = try device.writeTree(below: "https://m.test/app")
    #expect(try Scratch.contents(outside) == ["c": bytes("mine")])
    #expect(try Scratch.contents(tree) == ["a": bytes("new"), "b/c": bytes("new")])
  }

  @Test func linksInPlaceOfTheTreeAreReplaced() throws {
    try bench.origin.publish([url("a"): bytes("new")])
    let device = try bench.device()
    _ = try device.update()
    let outside = "\(bench.scratch.path)/outside"
    try Scratch.write("mine", to: "\(outside)/x")
    symlink(outside, tree)
    _ = try device.writeTree(below: "https://m.test/app")
    #expect(try Scratch.contents(outside) == ["x": bytes("mine")])
    #expect(try Scratch.contents(tree) == ["a": bytes("new")])
  }

  @Test func clashesAreReported() throws {
    try bench.origin.publish([
      url("a"): bytes("file"), url("a/b"): bytes("below"), url("x%2Cy"): bytes("1"),
      url("%e4%bd%a0"): bytes("2"),
      url("%E4%BD%A0"): bytes("3"),
    ])
    let device = try bench.device()
    _ = try device.update()
    let report = try device.writeTree(below: "https://m.test/app")
    #expect(report.clashes == [[url("%E4%BD%A0"), url("%e4%bd%a0")], [url("a/b"), url("a")]])
    #expect(try Scratch.contents(tree) == ["a/b": bytes("below"), "x,y": bytes("1"), "你": bytes("3")])
  }

  @Test func missingFilesAreReported() throws {
    try bench.origin.publish([url("a"): bytes("one"), url("b"): bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    _ = try device.writeTree(below: "https://m.test/app")
    try Kernel.remove("\(bench.scratch.path)/device/files/https%3A%2F%2Fm.test%2Fapp%2Fa")
    try Kernel.remove("\(tree)/a")
    #expect(try device.writeTree(below: "https://m.test/app").missing == 1)
    _ = try device.complete()
    #expect(try device.writeTree(below: "https://m.test/app").missing == 0)
    #expect(try Scratch.contents(tree).count == 2)
  }

  @Test func invalidBasesAreRefused() throws {
    let device = try bench.device()
    #expect(throws: DeviceError.self) { try device.writeTree(below: "m.test/app") }
  }

  /// A URL may be as long as the longest path, and the tree is inside a folder.
  @Test func pathsThatAreTooLongAreSkipped() throws {
    let long = url(
      (0..<20).map { String(repeating: Character(Unicode.Scalar(UInt8(97 + $0))), count: 202) }.joined(
        separator: "/"))
    try bench.origin.publish([url("a"): bytes("aa"), long: bytes("long"), url("z"): bytes("zz")])
    let device = try bench.device()
    _ = try device.update()
    for written in [2, 0] {
      let report = try device.writeTree(below: "https://m.test/app")
      #expect(report.written == written && report.skipped == [long])
      #expect(try Scratch.contents(tree) == ["a": bytes("aa"), "z": bytes("zz")])
    }
    #expect(try Folder.textNames("\(bench.scratch.path)/device/staging").isEmpty)
  }
}
