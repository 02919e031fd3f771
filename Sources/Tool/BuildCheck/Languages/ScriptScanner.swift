/// A script's own references.
struct ScriptContent {
  /// Imports, `new URL("…", import.meta.url)` and the source map, in order.
  var references: [Reference] = []
  /// Whether it can only be a module.
  var isModule = false
}

/// Finds the imports of a script (ECMA-262, section 16.2) and its source map.
struct ScriptScanner {
  private var tokens: ScriptTokens
  private var content = ScriptContent()

  private init(_ bytes: [UInt8], _ part: Range<Int>) { tokens = ScriptTokens(bytes, part) }

  /// Returns the references in `bytes`, or in a part of them. If the text isn't a script, none of them is certain.
  static func content(_ bytes: [UInt8], _ part: Range<Int>? = nil) -> ScriptContent {
    var scanner = ScriptScanner(bytes, part ?? bytes.indices)
    scanner.scan()
    if let map = scanner.tokens.sourceMap {
      scanner.content.references.append(
        Reference(kind: .sourceMap, text: TextBytes.text(bytes[map]), at: map.lowerBound))
    }
    if !scanner.tokens.isSure {
      for index in scanner.content.references.indices { scanner.content.references[index].isCertain = false }
    }
    return scanner.content
  }

  private mutating func scan() {
    var isAfterDot = false
    var isAfterNew = false
    while true {
      let token = tokens.next()
      if token.kind == .end { return }
      if token.kind == .name, !isAfterDot {
        if tokens.equals(token, "import") {
          importing(token)
        } else if tokens.equals(token, "export") {
          exporting()
        } else if tokens.equals(token, "__vite__mapDeps") {
          preloads()
        } else if isAfterNew, tokens.equals(token, "URL") {
          moduleURL()
        }
      }
      isAfterNew = token.kind == .name && tokens.equals(token, "new")
      isAfterDot = token.kind == .sign && token.byte == UInt8(ascii: ".")
    }
  }

  // MARK: Statements

  private mutating func importing(_ word: ScriptToken) {
    let isAtTop = tokens.isAtTop
    var ahead = tokens
    let token = ahead.next()
    switch token.kind {
    case .string where isAtTop:
      tokens = ahead
      add(.staticImport, token)
    case .sign where token.byte == UInt8(ascii: "("):
      let name = ahead.next()
      guard name.kind == .string || name.kind == .template else { return }
      let after = ahead.next()
      guard isSign(after, ")") || isSign(after, ",") else { return }
      add(.dynamicImport, name)
    case .sign where token.byte == UInt8(ascii: "."):
      let name = ahead.next()
      if ahead.equals(name, "meta") { content.isModule = true }
    case .name where isAtTop, .sign where isAtTop && (isSign(token, "{") || isSign(token, "*")):
      clause(from: token, &ahead)
    default: break
    }
  }

  private mutating func exporting() {
    guard tokens.isAtTop else { return }
    var ahead = tokens
    let token = ahead.next()
    content.isModule = true
    if isSign(token, "{") || isSign(token, "*") { clause(from: token, &ahead) }
  }

  /// Reads names, commas and braces up to `from "…"`. Nothing is read twice, so that the work stays linear in the length of
  /// the text.
  private mutating func clause(from first: ScriptToken, _ ahead: inout ScriptTokens) {
    var token = first
    while true {
      if token.kind == .name, ahead.equals(token, "from") {
        let name = ahead.next()
        if name.kind == .string {
          tokens = ahead
          add(.staticImport, name)
          return
        }
        token = name
        continue
      }
      let isPart =
        token.kind == .name && !ahead.equals(token, "import") && !ahead.equals(token, "export")
        || token.kind == .string || isSign(token, "{") || isSign(token, "}") || isSign(token, ",")
        || isSign(token, "*")
      guard isPart, ahead.depth <= 1 else { return }
      tokens = ahead
      token = ahead.next()
    }
  }

  /// Reads `("…", import.meta.url)` after `new URL`.
  private mutating func moduleURL() {
    var ahead = tokens
    guard isSign(ahead.next(), "(") else { return }
    let name = ahead.next()
    guard name.kind == .string || name.kind == .template, isSign(ahead.next(), ",") else { return }
    for word: StaticString in ["import", ".", "meta", ".", "url"] {
      guard ahead.equals(ahead.next(), word) else { return }
    }
    content.isModule = true
    add(.moduleURL, name)
  }

  /// Reads what follows Vite's `__vite__mapDeps`: in its declaration, a list of what a later import needs. If a style sheet in
  /// it can't be loaded, that import fails; its scripts are also named by imports.
  private mutating func preloads() {
    var ahead = tokens
    var token = ahead.next()
    guard isSign(token, "=") else { return }
    // `=(i,m=__vite__mapDeps,d=(m.f||(m.f=[`
    for _ in 0..<30 where !isSign(token, "[") { token = ahead.next() }
    guard isSign(token, "[") else { return }
    while true {
      let name = ahead.next()
      guard name.kind == .string else { return }
      let text = text(of: name)
      // Others are resolved against a base from the build's settings.
      if text.hasSuffix(".css"), text.hasPrefix("./") || text.hasPrefix("../") { add(.moduleStyle, name) }
      guard isSign(ahead.next(), ",") else { return }
      tokens = ahead
    }
  }

  private func isSign(_ token: ScriptToken, _ sign: Unicode.Scalar) -> Bool {
    token.kind == .sign && UInt32(token.byte) == sign.value
  }

  private mutating func add(_ kind: Reference.Kind, _ token: ScriptToken) {
    if kind == .staticImport { content.isModule = true }
    content.references.append(Reference(kind: kind, text: text(of: token), at: token.start))
  }

  /// Returns a string without its quotes.
  private func text(of token: ScriptToken) -> String {
    ScriptText.decode(tokens.bytes, (token.start + 1)..<max(token.start + 1, token.end - 1))
  }
}

/// String literals of scripts.
enum ScriptText {
  /// Decodes the escapes of a string's content (ECMA-262, section 12.9.4).
  static func decode(_ bytes: [UInt8], _ range: Range<Int>) -> String {
    guard bytes[range].contains(UInt8(ascii: "\\")) else { return TextBytes.text(bytes[range]) }
    var out: [UInt8] = []
    var cursor = TextCursor(bytes, range)
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == UInt8(ascii: "\\") { escape(&cursor, &out) } else { out.append(byte) }
    }
    return TextBytes.text(out)
  }

  private static func escape(_ cursor: inout TextCursor, _ out: inout [UInt8]) {
    let byte = cursor.byte
    cursor.at += 1
    switch byte {
    case UInt8(ascii: "n"): out.append(0x0A)
    case UInt8(ascii: "r"): out.append(0x0D)
    case UInt8(ascii: "t"): out.append(0x09)
    case 0x0A: break
    case 0x0D: if cursor.byte == 0x0A { cursor.at += 1 }
    case UInt8(ascii: "x"): TextBytes.append(scalar: hex(&cursor, digits: 2), to: &out)
    case UInt8(ascii: "u") where cursor.byte == UInt8(ascii: "{"):
      cursor.at += 1
      TextBytes.append(scalar: hex(&cursor, digits: 6), to: &out)
      if cursor.byte == UInt8(ascii: "}") { cursor.at += 1 }
    case UInt8(ascii: "u"): TextBytes.append(scalar: hex(&cursor, digits: 4), to: &out)
    case 0 where cursor.at > cursor.end: break
    default: out.append(byte)
    }
  }

  private static func hex(_ cursor: inout TextCursor, digits: Int) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = TextBytes.hexValue(cursor.byte) else { break }
      value = value << 4 | digit
      cursor.at += 1
    }
    return value
  }
}
