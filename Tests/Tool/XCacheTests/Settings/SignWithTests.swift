import Publishing
import Testing
import Values

@testable import xcache

/// Who signs, by options, the environment and xcache.json.
@Suite struct SignWithTests {
  private static func file(_ text: String) throws -> Settings {
    try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "/project/xcache.json")
  }

  private static func given(
    _ words: [String], _ environment: [String: String] = [:], _ settings: Settings = Settings()
  ) throws -> SignerSettings? {
    try GivenSigner.settings(
      Arguments(words, options: Command.signing, environment: environment), settings)
  }

  @Test func `several keys are given by several options`() throws {
    func all(_ words: [String], _ environment: [String: String] = [:]) throws -> [SignerSettings] {
      try GivenSigner.all(
        Arguments(words, options: Command.signing, environment: environment), Settings())
    }
    #expect(try all([]).isEmpty)
    #expect(try all([], ["XCACHE_SIGN_KEY": "a.key"]) == [.file("a.key")])
    #expect(try all(["--sign-key", "a.key", "--sign-key", "b.key"]) == [.file("a.key"), .file("b.key")])
    #expect(throws: UsageError.self) {
      try all(["--sign-key", "a.key", "--sign-key", "b.key", "--sign-with", "x", "--public-key", "y"])
    }
  }

  @Test func `xcache.json names a key's file or a program, relative to its folder`() throws {
    #expect(
      try Self.file(#"{"signWith":{"key":"ci/release.key"}}"#).signWith == .file("/project/ci/release.key"))
    #expect(try Self.file(#"{"signWith":{"key":"/run/release.key"}}"#).signWith == .file("/run/release.key"))
    #expect(
      try Self.file(#"{"signWith":{"command":"sign it","publicKey":"release.pem"}}"#).signWith
        == .command("sign it", publicKey: "/project/release.pem", folder: "/project"))
    for text in [
      #"{"signWith":{}}"#, #"{"signWith":{"command":"x"}}"#, #"{"signWith":{"publicKey":"x"}}"#,
      #"{"signWith":{"key":"a","command":"x","publicKey":"b"}}"#, #"{"signWith":"release.key"}"#,
      #"{"signWith":{"key":"-----BEGIN PRIVATE KEY-----"}}"#, #"{"signWith":{"keys":"a"}}"#,
    ] {
      #expect(throws: SettingsError.self, "\(text)") { try Self.file(text) }
    }
  }

  @Test func `options come before the environment, and that before xcache.json`() throws {
    let settings = try Self.file(#"{"signWith":{"key":"/file.key"}}"#)
    let variable = ["XCACHE_SIGN_KEY": "variable.key"]
    #expect(try Self.given([]) == nil)
    #expect(try Self.given([], [:], settings) == .file("/file.key"))
    #expect(try Self.given([], variable, settings) == .file("variable.key"))
    #expect(try Self.given(["--sign-key", "option.key"], variable, settings) == .file("option.key"))
    #expect(
      try Self.given(["--sign-with", "sign it", "--public-key", "a.pem"], variable, settings)
        == .command("sign it", publicKey: "a.pem"))
    for words in [
      ["--sign-with", "x"], ["--public-key", "x"], ["--sign-key", "-----BEGIN PRIVATE KEY-----"],
      ["--sign-key", "a", "--sign-with", "x", "--public-key", "b"],
    ] {
      #expect(throws: UsageError.self, "\(words)") { try Self.given(words) }
    }
  }
}
