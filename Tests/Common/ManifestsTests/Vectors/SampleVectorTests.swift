import Testing

@testable import Manifests
@testable import Values

/// Runs docs/vectors/samples.json, which a program in Python has written from the rules of docs/protocol.md.
@Suite struct SampleVectorTests {
  @Test func textsAreStripped() throws {
    let cases = try Vectors.cases("samples.json")
    #expect(cases.count >= 150)
    for sample in cases {
      let (text, wanted) = (try sample.text("in"), try sample.text("out"))
      let urls = Set((sample["listed"]?.array ?? []).compactMap(\.string))
      let out = try Self.stripped(text, sample.text("of")) { urls.contains($0) }
      #expect(UTF8Order.areEqual(out, wanted), "\(sample)")
    }
  }

  /// What a device stripped stays as it is at the origin.
  @Test func strippedTextsStay() throws {
    for sample in try Vectors.cases("samples.json") {
      let (of, out) = (try sample.text("of"), try sample.text("out"))
      let urls = Set((sample["listed"]?.array ?? []).compactMap(\.string))
      #expect(try UTF8Order.areEqual(Self.stripped(out, of) { urls.contains($0) }, out), "\(sample)")
    }
  }

  private static func stripped(_ text: String, _ of: String, listed: @escaping (String) -> Bool) throws
    -> String
  {
    switch of {
    case "message": SampleText.message(text, listed: listed)
    case "url": SampleText.url(text, listed: listed)
    case "frame": SampleText.frame(text, listed: listed)
    default: throw JSONError.member("of")
    }
  }
}
