import Testing
import TestSupport
import Values

@Suite struct MergePatchTests {
  /// RFC 7396, appendix A: original, patch, result.
  static let appendix: [(String, String, String)] = [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, #"null"#, #"null"#),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#),
    (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ]

  private func value(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  @Test(arguments: appendix)
  func examplesOfTheRFC(_ original: String, _ patch: String, _ result: String) throws {
    let patched = MergePatch.apply(try value(patch), to: try value(original))
    #expect(String(decoding: patched.canonical, as: UTF8.self) == result)
  }

  @Test func madePatchesGiveTheNewValue() {
    var random = SplitMix(seed: 4)
    for _ in 0..<5_000 {
      let old = Self.random(depth: 3, &random)
      let new = Self.random(depth: 3, &random)
      #expect(MergePatch.apply(MergePatch.make(from: old, to: new), to: old) == new)
    }
  }

  /// A value without null members.
  private static func random(depth: Int, _ random: inout SplitMix) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &random) {
    case 0: return .bool(.random(using: &random))
    case 1: return .integer(Int.random(in: 0...2, using: &random))
    case 2: return .string(["", "a", "é"].randomElement(using: &random) ?? "")
    case 3:
      return .array((0..<Int.random(in: 0...2, using: &random)).map { _ in Self.random(depth: 0, &random) })
    default:
      var object = JSONObject()
      for key in ["a", "b", "é", "e\u{301}"] where Bool.random(using: &random) {
        object[key] = Self.random(depth: depth - 1, &random)
      }
      return .object(object)
    }
  }
}
