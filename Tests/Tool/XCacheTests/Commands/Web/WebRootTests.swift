import Manifests
import System
import TestSupport
import Testing
import Values

@testable import xcache

/// `web init --root`: sites whose browsers check what publishers signed.
@Suite struct WebRootTests {
  let folder: Scratch
  /// The first root of the app `shop`, signed.
  let root: JSONValue

  init() throws {
    folder = try Scratch()
    let vectors = try DurableFile.read(Repository.root + "/Tests/Conformance/trust/vectors.json")
    let checks = try JSONValue.parse(try #require(vectors))["checks"]
    root = try #require(checks?["envelopes"]?["1"])
    try folder.write("index.html", "<html></html>")
  }

  private func initialize(_ words: String...) -> (code: ExitCode, output: String, error: String) {
    CapturedTerminal.run(
      ["web", "init", "--dir", folder.path, "--server", "https://o.example"] + words,
      environment: ["XDG_CONFIG_HOME": folder.path + "/none"])
  }

  private func file(_ name: String, _ value: JSONValue) throws -> String {
    try DurableFile.write(value.canonical, to: "\(folder.path)/\(name)")
    return "\(folder.path)/\(name)"
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try DurableFile.read("\(folder.path)/\(name)") ?? [], as: UTF8.self)
  }

  /// The root is in the worker's bytes, and its check beside it; a build without a root has neither.
  @Test func rootIsWritten() throws {
    #expect(initialize("--app", "shop").code == .done)
    #expect(try DurableFile.read("\(folder.path)/\(WebBuild.trustName)") == nil)
    let plain = try text(WebBuild.workerName)
    let outcome = initialize("--app", "shop", "--root", try file("root.json", root), "--json")
    let answer = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(outcome.code == .done && answer["root"]?["number"] == "1", "\(outcome)")
    #expect(answer["root"]?["sha256"]?.string?.count == 64)
    #expect(answer["settings"]?["root"]?["payload"] == root["payload"])
    #expect(
      answer["written"]
        == .strings([
          WebBuild.workerName, WebBuild.packsName, WebBuild.trustName, WebBuild.scriptName,
          WebBuild.samplesName,
        ]))
    let settings = try #require(WebBuild.settings(in: folder.path))
    #expect(
      settings["root"]?["payload"] == root["payload"] && settings["root"]?["signatures"] == root["signatures"]
    )
    let worker = try text(WebBuild.workerName)
    #expect(worker.drop { $0 != "\n" } == plain.drop { $0 != "\n" } && worker != plain)
    #expect(
      try DurableFile.read("\(folder.path)/\(WebBuild.trustName)")
        == DurableFile.read("\(Repository.root)/public/runtime/dist/\(WebBuild.trustName)"))
  }

  @Test func otherFilesAreRefused() throws {
    var unsigned = try #require(root.object)
    unsigned["signatures"] = []
    let missing = initialize("--app", "shop", "--root", "\(folder.path)/none.json")
    #expect(missing.code == .failed && missing.error.contains("none.json: no such file"), "\(missing)")
    for (app, value, why) in [
      ("pay", root, "is the root of the app shop, and this is pay"),
      ("shop", ["app": "shop"], "is no signed root"),
      ("shop", .object(unsigned), "isn't signed by enough of its own root keys"),
    ] as [(String, JSONValue, String)] {
      let outcome = initialize("--app", app, "--root", try file("root.json", value))
      #expect(outcome.code == .refused && outcome.error.contains(why), "\(outcome)")
    }
    #expect(try DurableFile.read("\(folder.path)/\(WebBuild.workerName)") == nil)
  }

  /// A site that checks, and a build that wouldn't any more.
  @Test func siteLosesItsRoot() throws {
    let url = try ResourceURL("https://m.test/xcache-sw.js")
    func warnings(isLive: Bool, status: Int = 200, _ root: JSONValue?) -> [String] {
      LiveSite.warnings(
        LivePage(url: url.text, status: status, fields: [], hasRoot: isLive),
        of: LiveSite.Worker(url: url, bases: [], root: root))
    }
    #expect(warnings(isLive: true, nil).contains { $0.contains("this build's has none") })
    #expect(warnings(isLive: true, root).isEmpty && warnings(isLive: false, nil).isEmpty)
    #expect(warnings(isLive: true, status: 404, nil).isEmpty)
  }

  /// Whoever removes the worker leaves no file that an old worker imports as it was.
  @Test func checkIsRemovedWithTheWorker() throws {
    _ = initialize("--app", "shop", "--root", try file("root.json", root))
    let outcome = CapturedTerminal.run(["web", "remove", "--dir", folder.path, "--json"])
    #expect(
      outcome.output.contains(
        #"{"written":["xcache-sw.js","xcache-sw-packs.js","xcache-sw-trust.js","xcache.js","xcache-samples.js"]}"#
      ),
      "\(outcome)")
    for name in [WebBuild.trustName, WebBuild.samplesName] {
      #expect(try text(name) == "// xcache was removed from this site.\n")
    }
  }
}
