import TestSupport

/// Texts that are almost URLs: valid ones with up to three random changes, and random sequences of pieces.
enum HostileURLs {
  private static let pieces = [
    "https://", "http://", "HTTP://", "https:", "ftp://", "a", "m.example.com", "1.2", "0x7f", "0X7F", "b2",
    "127.1",
    "xn--", "xn--80ak6aa92e", "-", "--", "_", ".", "..", "...", ":", ":80", ":443", ":0", ":65536", "/", "/",
    "//",
    "/.", "/..", "/./", "/../", "/.well-known", "x.js", "~", "%2e", "%2E%2e", "%", "%zz", "%41", "?", "??",
    "?/../", "#",
    "&a=1", "'", "\"", "[", "]", "[::1]", "<", ">", "{", "}", "|", "^", "`", " ", "é", "ß", "😀", "\u{FEFF}",
    "\u{7F}",
    "\u{1}", "\0", "@", "u:p@", "A", "Ä", "\\", "\\..\\", "\t", "\n", "\r", ";", "=", "+", ",", "!", "$", "*",
    "(", ")",
  ]

  static func next(_ random: inout SplitMix) -> String {
    random.next() % 4 == 0 ? joined(&random) : mutated(&random)
  }

  private static func pick<Item>(_ items: [Item], _ random: inout SplitMix) -> Item {
    items[Int(random.next() % UInt64(items.count))]
  }

  private static func joined(_ random: inout SplitMix) -> String {
    let start =
      random.next() % 3 == 0 ? "" : pick(["https://a", "http://m.example.com", "https://"], &random)
    return (0..<random.next() % 7).reduce(into: start) { text, _ in text += pick(pieces, &random) }
  }

  /// A valid URL with up to three characters removed, inserted or replaced.
  private static func mutated(_ random: inout SplitMix) -> String {
    let hosts = [
      "a", "m.example.com", "a-b.c9.de", "x1", "0.a", "b.0", "9", "a.1e3", String(repeating: "h", count: 64),
    ]
    let paths = [
      "/", "/a/b.js", "/static/js/app.4f2a~1.js", "/a//b/", "/A_B-c/(1)/@2/x:y;z=1,2+3!$*&", "/a.b/c..d",
    ]
    let queries = ["", "", "?", "?v=1&w=a/b?c", "?%2e%2E/..", "?x=~_-.:@"]
    var text = Array(
      (pick(["https://", "http://"], &random) + pick(hosts, &random) + pick(paths, &random)
        + pick(queries, &random))
        .unicodeScalars)
    for _ in 0..<random.next() % 4 {
      let index = Int(random.next() % UInt64(text.count + 1))
      switch random.next() % 3 {
      case 0: if index < text.count { text.remove(at: index) }
      case 1: text.insert(contentsOf: pick(pieces, &random).unicodeScalars, at: index)
      default:
        guard let scalar = Unicode.Scalar(UInt32(random.next() % 256)), index < text.count else { continue }
        text[index] = scalar
      }
    }
    var string = String.UnicodeScalarView()
    string.append(contentsOf: text)
    return String(string)
  }
}
