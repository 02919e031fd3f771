import Platform
import Testing

@testable import Origin

@Suite struct PagesTests {
  /// The repository, from this file's place in it.
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

  @Test func everyPageIsEmbeddedAsItIs() throws {
    let origin = try TestOrigin()
    let files = try Folder.textNames("\(Self.root)/public/console")
    #expect(files.count == Pages().paths.count)
    for file in files {
      let path = "/console/" + (file == "index.html" ? "" : file)
      let reply = try origin.ask("GET", path)
      #expect(reply.status == 200, "\(path)")
      #expect(try DurableFile.read("\(Self.root)/public/console/\(file)") == reply.body)
      #expect(reply.field("Content-Security-Policy")?.hasPrefix("default-src 'self'") == true)
      #expect(try origin.ask("GET", path, ["If-None-Match: \(reply.field("ETag") ?? "")"]).status == 304)
    }
    #expect(try origin.ask("GET", "/console/other.js").status == 404)
  }
}
