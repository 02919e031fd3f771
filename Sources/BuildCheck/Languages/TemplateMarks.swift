/// Finds what a template left in a page: marks that a server or a build tool should have replaced.
///
/// Only what is certain is reported, since frameworks also find their marks in pages:
/// - `<% … %>` and `{% … %}` in texts and attributes, `%PUBLIC_URL%` in attributes and titles: no browser and no framework reads
///   these in a page;
/// - `{{ … }}` in the title, and in the attributes of links, metadata and anything that is fetched: frameworks only replace it
///   there if it is theirs, which is then seen by their attributes (`ng-app`, `v-if`, `x-data`);
/// - `{{ … }}` elsewhere, if one of these has shown that it is a template's, or if the page has no script that could replace it.
///
/// What is in scripts, styles, comments, templates and samples of code isn't looked at.
struct TemplateMarks {
  /// A mark, as it is written, and its offset.
  struct Mark {
    let text: String
    let at: Int
  }

  /// Marks that are certain, and those that a framework might replace.
  private var certain: [Mark] = []
  private var braces: [Mark] = []
  private var isOfFramework = false
  private var hasScript = false
  /// How many elements are open whose text is a sample or a template.
  private var samples = 0

  /// What the page has; the first is where it is, all are counted.
  var found: [Mark] {
    if isOfFramework { return certain.filter { !$0.text.hasPrefix("{{") } }
    let isTemplate = !hasScript || certain.contains { $0.text.hasPrefix("{{") }
    return (certain + (isTemplate ? braces : [])).sorted { $0.at < $1.at }
  }

  private static let sampleElements: Set<String> = ["pre", "code", "samp", "kbd", "template"]

  mutating func take(_ tag: PageTag, after texts: [Range<Int>], raw: Range<Int>?, in bytes: [UInt8]) {
    take(texts, in: bytes)
    if Self.sampleElements.contains(tag.name), !tag.closesItself {
      samples = max(0, samples + (tag.isEnd ? -1 : 1))
    }
    if tag.isEnd { return }
    if tag.name == "script" { hasScript = true }
    if tag.name == "title", let raw { search(raw, isURL: true, hasPercent: true, in: bytes) }
    if tag.attributes.contains(where: { Self.isOfFramework($0.name) }) { isOfFramework = true }
    guard samples == 0 else { return }
    for attribute in tag.attributes {
      search(
        attribute.value, isURL: Self.isRead(attribute.name, of: tag.name),
        hasPercent: Self.isRead(attribute.name, of: tag.name), in: bytes)
    }
  }

  /// Takes the texts before a tag, or those at the end.
  mutating func take(_ texts: [Range<Int>], in bytes: [UInt8]) {
    guard samples == 0 else { return }
    for text in texts { search(text, isURL: false, hasPercent: false, in: bytes) }
  }

  /// Attributes by which the frameworks that replace `{{ … }}` in pages are known.
  private static func isOfFramework(_ name: String) -> Bool {
    ["ng-", "data-ng-", "x-ng-", "v-", "x-", ":", "@", "*", "[", "(", "data-bind", "rv-"]
      .contains { name.hasPrefix($0) }
  }

  /// Whether a browser reads the attribute before any script could replace its value.
  private static func isRead(_ attribute: String, of element: String) -> Bool {
    switch attribute {
    case "href", "src", "srcset", "poster", "action", "manifest": true
    case "content": element == "meta"
    case "lang": element == "html"
    default: false
    }
  }

  private mutating func search(_ part: Range<Int>, isURL: Bool, hasPercent: Bool, in bytes: [UInt8]) {
    var at = part.lowerBound
    while at < part.upperBound {
      let next = at + 1 < part.upperBound ? bytes[at + 1] : 0
      switch (bytes[at], next) {
      case (UInt8(ascii: "{"), UInt8(ascii: "{")):
        guard let mark = mark(at, "}}", part, bytes) else { break }
        if isURL { certain.append(mark) } else { braces.append(mark) }
        at += mark.text.utf8.count - 1
      case (UInt8(ascii: "{"), UInt8(ascii: "%")), (UInt8(ascii: "<"), UInt8(ascii: "%")):
        guard let mark = mark(at, bytes[at] == UInt8(ascii: "{") ? "%}" : "%>", part, bytes) else { break }
        certain.append(mark)
        at += mark.text.utf8.count - 1
      case (UInt8(ascii: "%"), _) where at > 0 && at == part.lowerBound && bytes[at - 1] == UInt8(ascii: "<"):
        // In a text, the `<` that begins no tag ends the text before.
        guard let mark = mark(at - 1, "%>", part, bytes) else { break }
        certain.append(mark)
        at += mark.text.utf8.count - 2
      case (UInt8(ascii: "%"), _) where hasPercent:
        guard let mark = Self.percent(at, part, bytes) else { break }
        certain.append(mark)
        at += mark.text.utf8.count - 1
      default: break
      }
      at += 1
    }
  }

  /// The longest mark that is looked for, in bytes.
  private static let limit = 256

  /// The mark that begins at `start` and ends with `end` in the same part; empty ones say nothing.
  private func mark(_ start: Int, _ end: StaticString, _ part: Range<Int>, _ bytes: [UInt8]) -> Mark? {
    var cursor = TextCursor(bytes, start + 2..<min(part.upperBound, start + Self.limit))
    guard cursor.seek(text: end), cursor.at > start + 2 else { return nil }
    return Mark(text: TextBytes.text(bytes[start..<cursor.at + 2]), at: start)
  }

  /// `%PUBLIC_URL%`, `%sveltekit.assets%`; not `%E4%BD%A0`, which are escapes.
  private static func percent(_ at: Int, _ part: Range<Int>, _ bytes: [UInt8]) -> Mark? {
    let name = bytes[(at + 1)..<part.upperBound].prefix(64).prefix {
      TextBytes.isLetter($0) || TextBytes.isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".")
    }
    guard name.endIndex < part.upperBound, bytes[name.endIndex] == UInt8(ascii: "%"), name.count > 2 else {
      return nil
    }
    let isEscape = name.prefix(2).allSatisfy { TextBytes.hexValue($0) != nil }
    let isVariable = name.allSatisfy {
      $0 >= 0x41 && $0 <= 0x5A || TextBytes.isDigit($0) || $0 == UInt8(ascii: "_")
    }
    let isKnown = name.starts(with: "sveltekit.".utf8)
    guard isKnown || isVariable && (!isEscape || name.contains(UInt8(ascii: "_"))),
      !TextBytes.isDigit(name[name.startIndex])
    else { return nil }
    return Mark(text: TextBytes.text(bytes[at...name.endIndex]), at: at)
  }
}
