import Manifests
import System
import Testing
import TestSupport
import Values

@Suite struct DownloadPathTests {
  /// The example of the design, with made-up digests where it has none.
  private static func example() throws -> DownloadPath {
    let digest = try #require(
      SHA256(hex: "cb71c52abf851f6ed634144a40500112" + String(repeating: "0", count: 32)))
    return DownloadPath(
      channel: .online, appID: 1, manifestVersion: ManifestVersion(516), resourceVersion: 1, sha256: digest,
      url: try ResourceURL("https://m.example.com/ares/0518c3.js"))
  }

  private static let text =
    "xcache/1/516/1/cb71c52a-bf85-8f6e-9634-144a40500112/https%253A%252F%252Fm.example.com%252Fares%252F0518c3.js"

  @Test func exampleOfTheDesign() throws {
    let path = try Self.example()
    #expect(path.text == Self.text)
    #expect(path.name.text == "https%3A%2F%2Fm.example.com%2Fares%2F0518c3.js")
    let publicURL = try BaseURL("https://cdn.example.com/hxm/tech/")
    #expect(path.url(publicURL: publicURL) == "https://cdn.example.com/hxm/tech/" + Self.text)
    #expect(DownloadPath(parsing: Array(Self.text.utf8).span.bytes) == path)
  }

  @Test(arguments: [
    ("xcache/", "xcach/"), ("xcache/", "/xcache/"), ("xcache/", "xcache_online/"), ("/1/516", "/01/516"),
    ("/1/516", "/0/516"), ("/516/", "/-516/"), ("/516/", "//"), ("/516/", "/99999999999999999999/"),
    ("cb71", "CB71"), ("-8f6e", "-4f6e"), ("-9634", "-1634"), ("cb71c52a-", "cb71c52a"), ("cb71", "gb71"),
    ("%253A", "%3A"), ("%253A", "%253a"), ("%253A", ":"), ("%252Fares", "%252Far%2565s"), ("ares", "a res"),
    ("%252Fares", "/ares"), (".js", ".js/"), (".js", "%25"), (".js", "%252"), ("https%253A", "%68ttps%253A"),
    (".js", ""), ("https%253A%252F%252Fm.example.com%252Fares%252F0518c3.js", ""),
    ("https%253A%252F%252Fm", "ftp%253A%252F%252Fm"),
  ])
  func onlyTheCanonicalFormIsParsed(_ part: String, _ replacement: String) throws {
    let range = try #require(Self.text.firstRange(of: part))
    let other = Self.text.replacingCharacters(range, with: replacement)
    let parsed = DownloadPath(parsing: Array(other.utf8).span.bytes)
    // Without its extension it is another valid name.
    if part == ".js" && replacement.isEmpty {
      #expect(parsed?.text == other)
    } else {
      #expect(parsed == nil, "\(other)")
    }
  }

  @Test func truncatedPathsAreRefusedOrRoundTrip() {
    let bytes = Array(Self.text.utf8)
    for count in 0..<bytes.count {
      let parsed = DownloadPath(parsing: Array(bytes[..<count]).span.bytes)
      if let parsed { #expect(parsed.text == String(decoding: bytes[..<count], as: UTF8.self)) }
    }
  }

  @Test func parsedPathsRoundTrip() {
    var random = SplitMix(seed: 9)
    let good = Array(Self.text.utf8)
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        bytes[at] = good.randomElement(using: &random) ?? 0
      }
      guard let path = DownloadPath(parsing: bytes.span.bytes) else { continue }
      accepted += 1
      #expect(Array(path.text.utf8) == bytes)
    }
    #expect(accepted > 1_000)
  }

  @Test(
    arguments: [
      ("https://a/" + String(repeating: "b", count: 182), nil),  // 200 bytes
      ("https://a/" + String(repeating: "b", count: 183), ""),
      ("https://a/" + String(repeating: "b", count: 190) + ".js", ".js"),
      ("https://a/" + String(repeating: "b", count: 190) + ".js?v=1.css", ".js"),
      ("https://a/" + String(repeating: "b", count: 190) + ".woff2abc", ".woff2abc"),
      ("https://a/" + String(repeating: "b", count: 190) + ".woff2abcd", ""),
      ("https://a/" + String(repeating: "b", count: 190) + ".", ""),
      ("https://a/" + String(repeating: "b", count: 190) + ".j-s", ""),
      ("https://a/b.js/" + String(repeating: "c", count: 190), ""),
    ] as [(String, String?)])
  func longNamesAreHashed(_ text: String, _ ending: String?) throws {
    let url = try ResourceURL(text)
    let name = ResourceFileName(url)
    #expect(ResourceFileName(text: name.text) == name)
    if let ending {
      #expect(name.text == "~" + SHA256.of(Array(url.text.utf8)).hex.prefix(32) + ending)
    } else {
      #expect(name.text.utf8.count == 200)
    }
  }

  @Test func randomPathsRoundTrip() throws {
    var random = SplitMix(seed: 2)
    let pieces = ["a", "Z", "/", "%20", "é", "?", "&", "=", "+", "'", "~", "-", "_", ".", "!", "*", "日本"]
    for _ in 0..<2_000 {
      let tail = (0..<Int.random(in: 0...40, using: &random)).compactMap { _ in
        pieces.randomElement(using: &random)
      }
      let url = try ResourceURL("https://m.example.com/" + tail.joined())
      let path = DownloadPath(
        channel: try ChannelName(["online", "test"].randomElement(using: &random) ?? ""),
        appID: .random(in: 1...1 << 53 - 1, using: &random),
        manifestVersion: ManifestVersion(.random(in: 1...999, using: &random)),
        resourceVersion: .random(in: 1...9, using: &random), sha256: SHA256.of(Array(url.text.utf8)), url: url
      )
      #expect(DownloadPath(parsing: Array(path.text.utf8).span.bytes) == path)
      #expect(ResourceUUID(text: path.uuid.text) == path.uuid)
    }
  }
}

extension String {
  func replacingCharacters(_ range: Range<Index>, with text: String) -> String {
    String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
  }
}
