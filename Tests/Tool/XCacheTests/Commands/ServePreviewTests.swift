import Linux
import Server
import Testing

@testable import xcache

/// `serve --preview-listen`: where previews are, and what is refused before anything starts.
@Suite struct ServePreviewTests {
  private static func preview(
    _ words: [String], console: String? = nil, _ change: (inout ServerConfiguration) -> Void = { _ in }
  ) throws -> ServePreview? {
    var main = ServerConfiguration(address: try #require(SocketAddress("127.0.0.1:8080")))
    change(&main)
    return try ServePreview(
      Arguments(words, options: ServeCommand.command.options, environment: [:]), beside: main,
      console: console)
  }

  private static func message(_ words: [String], console: String? = nil) -> String {
    let error = #expect(throws: UsageError.self) { try preview(words, console: console) }
    return error?.message ?? ""
  }

  @Test func offWithoutOption() throws { #expect(try Self.preview([]) == nil) }

  @Test func thisMachineFindsItBelowLocalhost() throws {
    let preview = try #require(try Self.preview(["--preview-listen", "127.0.0.1:0"]))
    let pattern = preview.address.pattern
    #expect(pattern.hasPrefix("http://*.localhost:") && !pattern.hasSuffix(":0"))
    #expect(preview.message.contains(pattern))
    preview.stop()
  }

  @Test func behindAProxyItsURLIsGiven() throws {
    let words = ["--preview-listen", "127.0.0.1:0", "--preview-url", "https://*.xcache-preview.com"]
    let preview = try #require(try Self.preview(words, console: "https://origin.example.com"))
    #expect(preview.address.pattern == "https://*.xcache-preview.com")
    preview.stop()
  }

  @Test func whatCannotBeIsRefused() {
    let listen = ["--preview-listen", "127.0.0.1:0"]
    #expect(Self.message(["--preview-url", "https://*.a.com"]).contains("--preview-listen"))
    #expect(Self.message(["--preview-listen", "localhost"]).contains("address and port"))
    #expect(Self.message(["--preview-listen", "0.0.0.0:0"]).contains("--preview-url"))
    #expect(Self.message(listen + ["--preview-url", "https://preview.a.com"]).contains("first label"))
    #expect(Self.message(listen + ["--preview-url", "http://*.a.com"]).contains("https://"))
    let open = ["--preview-listen", "0.0.0.0:0", "--preview-url", "https://*.a.com"]
    #expect(Self.message(open).contains("--tls-cert"))
    let own = listen + ["--preview-url", "https://*.a.com"]
    #expect(Self.message(own, console: "https://xcache.a.com").contains("console"))
    #expect(Self.message(own, console: "https://a.com").contains("console"))
  }

  /// The console of this machine is at another host than its previews.
  @Test(arguments: ["http://localhost:8080", "http://127.0.0.1:8080"])
  func consoleOnThisMachine(console: String) throws {
    let preview = try #require(try Self.preview(["--preview-listen", "127.0.0.1:0"], console: console))
    preview.stop()
  }
}
