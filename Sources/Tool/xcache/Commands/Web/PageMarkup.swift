import BuildCheck

/// What a page's tags say about the scripts that it loads, and about where its URLs lead. What is in templates doesn't count: a
/// script there isn't run.
struct PageMarkup {
  /// The offset of the first script's tag.
  private(set) var firstScript: Int?
  /// The offset of `</head>`.
  private(set) var headEnd: Int?
  /// The offset behind the doctype.
  private(set) var doctypeEnd: Int?
  /// Where a line has its place at the beginning of each head: behind `<head>`, or behind the `<meta charset>` right after it.
  private(set) var heads: [Int] = []
  /// The offset behind `<html>`.
  private(set) var htmlEnd: Int?
  /// The offsets of scripts that load `xcache.js`, by their `src` or by their text.
  private(set) var loads: [Int] = []
  /// Whether such a script has a nonce.
  private(set) var loadHasNonce = false
  /// The value of the first other script's nonce, as it is written; nil if none has one.
  private(set) var nonce: String?
  /// The URL of the first `<base>` that has one.
  private(set) var base: String?
  /// The values of `src` attributes without queries, in order, then those of `href` attributes.
  var references: [String] { sources + links }
  /// The texts of `<meta http-equiv="Content-Security-Policy">`.
  private(set) var policies: [String] = []

  /// Whether a script loads `xcache.js`.
  var loadsScript: Bool { !loads.isEmpty }

  private var sources: [String] = []
  private var links: [String] = []

  init(_ page: [UInt8]) {
    var tokens = PageTokens(page)
    var templateDepth = 0
    while let tag = tokens.next() {
      if tag.name == "template" { templateDepth = max(0, templateDepth + (tag.isEnd ? -1 : 1)) }
      if templateDepth == 0 { take(tag, tokens) }
    }
    doctypeEnd = tokens.doctypeEnd
  }

  private mutating func take(_ tag: PageTag, _ tokens: PageTokens) {
    if tag.isEnd {
      if tag.name == "head", headEnd == nil { headEnd = tag.start }
      return
    }
    for attribute in tag.attributes {
      // Also `data-src` and `xlink:href`, which lead to files of the build, too.
      if attribute.name.hasSuffix("src") { sources.append(Self.url(tokens.bytes[attribute.value])) }
      if attribute.name.hasSuffix("href") { links.append(Self.url(tokens.bytes[attribute.value])) }
    }
    switch tag.name {
    case "html": if htmlEnd == nil { htmlEnd = tag.end }
    case "head": heads.append(tag.end)
    case "script":
      if firstScript == nil { firstScript = tag.start }
      let own = tag.value("nonce").map { String(decoding: tokens.bytes[$0], as: UTF8.self) } ?? ""
      let end = tokens.rawText?.upperBound ?? tag.attributes.last?.value.upperBound ?? tag.start
      if Self.names(WebBuild.scriptName, tokens.bytes[tag.start..<end]) {
        loads.append(tag.start)
        if !own.isEmpty { loadHasNonce = true }
      } else if nonce == nil, !own.isEmpty {
        nonce = own
      }
    case "base":
      if base == nil, let href = tag.value("href") { base = Self.url(tokens.bytes[href]) }
    case "meta":
      if tag.value("charset") != nil, let head = heads.last,
        tokens.bytes[head..<tag.start].allSatisfy(Self.isSpace)
      {
        heads[heads.count - 1] = tag.end
      }
      guard Self.text(tag, "http-equiv", tokens)?.lowercased() == "content-security-policy",
        let policy = Self.text(tag, "content", tokens)
      else { return }
      policies.append(policy)
    default: break
    }
  }

  private static func text(_ tag: PageTag, _ attribute: String, _ tokens: PageTokens) -> String? {
    guard let value = tag.value(attribute) else { return nil }
    let bytes = tokens.bytes[value]
    return CharacterReferences.decode(bytes) ?? String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the URL in an attribute's value, up to a query or fragment.
  private static func url(_ value: ArraySlice<UInt8>) -> String {
    let start = value.drop(while: isSpace)
    return String(decoding: start.prefix { !isSpace($0) && !"?#".utf8.contains($0) }, as: UTF8.self)
  }

  /// Whether a script has a name, in any case, as a whole part of a URL.
  private static func names(_ name: String, _ script: ArraySlice<UInt8>) -> Bool {
    let small = script.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    let wanted = Array(name.utf8)
    guard small.count > wanted.count else { return false }
    return (1...small.count - wanted.count).contains { start in
      let end = start + wanted.count
      return small[start] == wanted[0] && small[start..<end].elementsEqual(wanted)
        && "/\"'`= ".utf8.contains(small[start - 1])
        && (end == small.count || "?#\"'`> )".utf8.contains(small[end]))
    }
  }

  /// Whether a byte is ASCII whitespace (Infra Standard).
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B
  }
}
