import System
import TestSupport
import Testing
import Trust
import Values

/// Envelopes that securesystemslib has signed: Tests/Trust/vectors.py makes them.
@Suite struct LibraryVectorTests {
  private static func cases() throws -> [JSONValue] {
    let bytes = try DurableFile.read(Repository.root + "/Tests/Trust/vectors.json")
    return try JSONValue.parse(try #require(bytes)).array ?? []
  }

  private static func signers<Document: TrustDocument>(
    _ json: JSONValue, _ keys: [KeyID: TrustKey], as type: Document.Type
  ) throws -> [KeyID] {
    try Signed<Document>(json: json).signers(among: keys.keys, keys: keys, by: SystemVerifier())
  }

  @Test func `each signature of theirs is valid`() throws {
    let cases = try Self.cases()
    #expect(cases.count >= 5)
    for vector in cases {
      var keys: [KeyID: TrustKey] = [:]
      for member in vector["signers"]?.object?.members ?? [] {
        let key = try #require(member.value.string.flatMap { TrustKey(base64: $0) })
        #expect(key.id.text == member.key)
        keys[key.id] = key
      }
      let envelope = try #require(vector["envelope"])
      let found =
        switch vector["document"]?.string {
        case "root": try Self.signers(envelope, keys, as: TrustRoot.self)
        case "release": try Self.signers(envelope, keys, as: ReleaseStatement.self)
        case "prefetch": try Self.signers(envelope, keys, as: PrefetchStatement.self)
        default: try Self.signers(envelope, keys, as: TrustHead.self)
        }
      #expect(!keys.isEmpty && found == keys.keys.sorted())
    }
  }
}
