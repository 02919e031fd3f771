import System
import Testing
import TestSupport

@testable import Origin

@Suite struct PagesTests {
  @Test func embeddedPagesEqualTheirFiles() throws {
    let origin = try TestOrigin()
    let console = try Folder.textNames("\(Repository.root)/public/console")
    let files = ["index.html"] + console.map { "console/\($0)" }
    #expect(files.count == Pages.embedded.paths.count)
    for file in files {
      let path = "/" + (file.hasSuffix("index.html") ? file.dropLast(10) : file[...])
      let reply = try origin.ask("GET", path)
      #expect(reply.status == 200, "\(path)")
      #expect(try DurableFile.read("\(Repository.root)/public/\(file)") == reply.body)
      let policy = reply.field("Content-Security-Policy") ?? ""
      #expect(
        policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "))
      #expect(
        policy.contains("frame-ancestors 'none'") && policy.contains("require-trusted-types-for 'script'"))
      #expect(!policy.contains("unsafe"))
      #expect(reply.field("X-Content-Type-Options") == "nosniff")
      #expect(reply.field("Cross-Origin-Opener-Policy") == "same-origin")
      #expect(try origin.ask("GET", path, ["If-None-Match: \(reply.field("ETag") ?? "")"]).status == 304)
    }
    #expect(try origin.ask("GET", "/console/other.js").status == 404)
    let folder = try origin.ask("GET", "/console")
    #expect(folder.status == 302 && folder.field("Location") == "/console/")
  }

  /// The console's sources contain nothing that stores the token beyond the page, or makes markup of text.
  @Test func consoleStoresNothingAndWritesNoMarkup() throws {
    let folder = "\(Repository.root)/public/console"
    let stored = ["main.js": 3, "keys.js": 3]
    for file in try Folder.textNames(folder) {
      let text = String(decoding: try DurableFile.read("\(folder)/\(file)") ?? [], as: UTF8.self)
      for word in [
        "sessionStorage", "indexedDB", "document.cookie", "cookieStore", "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write", "DOMParser", "srcdoc", "<iframe", "eval(", " style=", " onclick",
      ] { #expect(!text.contains(word), "\(file) has \(word)") }
      // Only the chosen theme is stored, and whether letters are shortcuts.
      #expect(text.ranges(of: "localStorage").count == (stored[file] ?? 0), "\(file)")
    }
  }
}
