import Manifests
import OriginAPI
import System
import Testing
import Values

@Suite struct JSONCodingTests {
  struct Sample: Codable, Equatable {
    struct Part: Codable, Equatable {
      var name: String
      var size: Int64
    }
    enum Kind: String, Codable { case publish, rollback }

    var at: Moment?
    var changed: Bool
    var entry: JSONValue
    var kind: Kind
    var list: [Part]
    @OrNull var app: AppName?
    var version: ManifestVersion
  }

  private static let text =
    #"{"app":null,"at":"2026-11-20T15:17:27.000Z","changed":true,"entry":{"a":[1.50,null]},"kind":"rollback","#
    + #""list":[{"name":"ä","size":9007199254740991}],"version":"12"}"#

  @Test func roundTripsBytes() throws {
    let json = try JSONValue.parse(Array(Self.text.utf8))
    let sample: Sample = try json.decode()
    #expect(sample.app == nil && sample.list == [.init(name: "ä", size: (1 << 53) - 1)])
    #expect(String(decoding: JSONValue(encoding: sample).canonical, as: UTF8.self) == Self.text)
  }

  @Test func omitsNilUnlessOrNull() throws {
    var sample: Sample = try JSONValue.parse(Array(Self.text.utf8)).decode()
    sample.at = nil
    let json = JSONValue(encoding: sample)
    #expect(json["at"] == nil && json["app"]?.isNull == true)
    var older = try #require(json.object)
    older["app"] = nil
    #expect(try JSONValue.object(older).decode(Sample.self) == sample)
  }

  private static let wrong: [(member: String, value: JSONValue, path: String)] = [
    ("version", .integer(12), "version"), ("kind", "unpublish", "kind"),
    ("list", .array([["name": "a"]]), "list[0].size"),
    ("list", .array([["name": "a", "size": 9_007_199_254_740_993]]), "list[0].size"),
    ("app", "no app", "app"), ("changed", "true", "changed"), ("at", "yesterday", "at"),
  ]

  @Test(arguments: wrong.indices) func errorNamesTheMember(index: Int) throws {
    let (member, value, path) = Self.wrong[index]
    var object = try #require(try JSONValue.parse(Array(Self.text.utf8)).object)
    object[member] = value
    #expect(throws: JSONError.member(path)) { try JSONValue.object(object).decode(Sample.self) }
  }

  @Test func ignoresUnknownMembers() throws {
    var object = try #require(try JSONValue.parse(Array(Self.text.utf8)).object)
    object["new"] = ["x": 1]
    #expect(throws: Never.self) { try JSONValue.object(object).decode(Sample.self) }
  }
}
