import Values

/// Finds a page's references: attributes with URLs, styles, and scripts in its text.
struct PageScanner {
  private var tokens: PageTokens
  private(set) var content = PageContent()
  private var templateDepth = 0
  private var marks = TemplateMarks()

  /// The number of bytes in which browsers look for the encoding (HTML standard, section 13.2.3.2).
  private static let charsetWindow = 1024

  private init(_ bytes: [UInt8]) { tokens = PageTokens(bytes) }

  static func content(_ bytes: [UInt8]) -> PageContent {
    var scanner = PageScanner(bytes)
    scanner.content.saysCharset = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    while let tag = scanner.tokens.next() { scanner.take(tag) }
    scanner.marks.take(scanner.tokens.texts, scanner.tokens.instructions, in: bytes)
    scanner.content.templateMarks = scanner.marks.found
    scanner.content.isDocument = scanner.content.isDocument || scanner.tokens.hasDoctype
    return scanner.content
  }

  private mutating func take(_ tag: PageTag) {
    marks.take(
      tag, after: tokens.texts, tokens.instructions, raw: tokens.rawText, in: tokens.bytes)
    if tag.name == "template" { templateDepth = max(0, templateDepth + (tag.isEnd ? -1 : 1)) }
    if tag.isEnd { return }
    switch tag.name {
    case "html", "head", "body": content.isDocument = true
    case "base": base(tag)
    case "meta": meta(tag)
    case "link": link(tag)
    case "script": script(tag)
    case "style": if let text = tokens.rawText { addAll(StyleScanner.references(tokens.bytes, text)) }
    default: break
    }
    attributes(tag)
  }

  // MARK: Attributes

  /// Attributes that contain one URL, by element.
  private static let single: [String: [(attribute: String, kind: Reference.Kind)]] = [
    "a": [("href", .link)], "area": [("href", .link)], "img": [("src", .image)],
    "source": [("src", .media)], "video": [("src", .media), ("poster", .image)], "audio": [("src", .media)],
    "track": [("src", .media)], "embed": [("src", .frame)], "object": [("data", .frame)],
    "iframe": [("src", .frame)], "frame": [("src", .frame)], "input": [("src", .image)],
    "body": [("background", .image)], "table": [("background", .image)], "td": [("background", .image)],
    "image": [("href", .image), ("xlink:href", .image)], "use": [("href", .image), ("xlink:href", .image)],
  ]

  private mutating func attributes(_ tag: PageTag) {
    for (attribute, kind) in Self.single[tag.name] ?? [] {
      if let value = tag.value(attribute) { add(kind, value) }
    }
    if tag.name == "img" || tag.name == "source", let value = tag.value("srcset") { sourceSet(.image, value) }
    if tag.name == "link", let value = tag.value("imagesrcset") { sourceSet(.hint, value) }
    if let style = tag.value("style") { inlineStyle(style) }
  }

  private mutating func add(_ kind: Reference.Kind, _ value: Range<Int>) {
    guard let text = CharacterReferences.decode(tokens.bytes[value]) else { return }
    append(Reference(kind: kind, text: TextBytes.trimmed(text), at: value.lowerBound))
  }

  private mutating func append(_ reference: Reference) {
    var reference = reference
    // The content of a template is fetched only if a script uses it.
    if templateDepth > 0 { reference.isCertain = false }
    content.references.append(reference)
  }

  private mutating func addAll(_ references: [Reference]) {
    for reference in references { append(reference) }
  }

  private mutating func inlineStyle(_ value: Range<Int>) {
    guard let text = CharacterReferences.decode(tokens.bytes[value]) else { return }
    // If nothing was decoded, offsets are those in the file.
    if text.utf8.count == value.count {
      addAll(StyleScanner.references(tokens.bytes, value))
    } else {
      for found in StyleScanner.references(Array(text.utf8)) {
        append(
          Reference(kind: found.kind, text: found.text, at: value.lowerBound, isCertain: found.isCertain))
      }
    }
  }

  /// Parses a `srcset` ("parse a srcset attribute", HTML standard, section 4.8.4.3.10).
  private mutating func sourceSet(_ kind: Reference.Kind, _ value: Range<Int>) {
    guard let decoded = CharacterReferences.decode(tokens.bytes[value]) else { return }
    let isAsWritten = decoded.utf8.count == value.count
    for candidate in SourceSet.urls(Array(decoded.utf8)) {
      append(
        Reference(
          kind: kind, text: candidate.url, at: value.lowerBound + (isAsWritten ? candidate.at : 0)))
    }
  }

  // MARK: Elements

  private func text(_ tag: PageTag, _ attribute: String) -> String? {
    tag.value(attribute).flatMap { CharacterReferences.decode(tokens.bytes[$0]) }
      .map { TextBytes.trimmed($0) }
  }

  private mutating func base(_ tag: PageTag) {
    guard content.base == nil, let value = tag.value("href") else { return }
    guard let text = text(tag, "href"), !Placeholder.isIn(text) else {
      content.hasUnknownBase = true
      return
    }
    content.base = (text, value.lowerBound)
  }

  private mutating func meta(_ tag: PageTag) {
    let httpEquiv = text(tag, "http-equiv")?.lowercased()
    if tag.start < Self.charsetWindow {
      if tag.value("charset") != nil { content.saysCharset = true }
      if httpEquiv == "content-type", text(tag, "content")?.lowercased().contains("charset=") == true {
        content.saysCharset = true
      }
    }
    guard httpEquiv == "refresh", let value = tag.value("content"), let text = text(tag, "content") else {
      return
    }
    let lowered = Array(text.utf8)
    guard let equals = lowered.firstIndex(of: UInt8(ascii: "=")) else { return }
    let target = TextBytes.trimmed(TextBytes.text(lowered[(equals + 1)...]))
    let quotes: Set<Character> = ["'", "\""]
    append(Reference(kind: .link, text: String(target.filter { !quotes.contains($0) }), at: value.lowerBound))
  }

  private mutating func link(_ tag: PageTag) {
    guard let value = tag.value("href") else { return }
    let words = Set((text(tag, "rel") ?? "").lowercased().split(separator: " ").map(String.init))
    if words.contains("stylesheet") {
      add(words.contains("alternate") || tag.value("disabled") != nil ? .hint : .stylesheet, value)
    } else if words.contains("manifest") {
      add(.appManifest, value)
    } else if !words.isDisjoint(with: [
      "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon",
    ]) {
      add(.icon, value)
    } else if !words.isDisjoint(with: ["preload", "modulepreload"]) {
      // With a media query, only some devices load it.
      add(tag.value("media") == nil ? .preload : .hint, value)
    } else if !words.isDisjoint(with: ["prefetch", "apple-touch-startup-image"]) {
      add(.hint, value)
    }
  }

  private mutating func script(_ tag: PageTag) {
    let type = (text(tag, "type") ?? "").lowercased().prefix { $0 != ";" }
    let isModule = type == "module"
    guard isModule || type.isEmpty || Self.scriptTypes.contains(String(type)) else {
      if type == "importmap", let range = tokens.rawText { importMap(range) }
      return
    }
    if let source = tag.value("src") ?? tag.value("href") ?? tag.value("xlink:href") {
      return add(isModule ? .moduleScript : .script, source)
    }
    guard let range = tokens.rawText else { return }
    noteBase(range)
    addAll(ScriptScanner.content(tokens.bytes, range).references.filter { $0.kind != .sourceMap })
  }

  private static let scriptTypes: Set<String> = [
    "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript",
    "application/x-javascript", "text/x-javascript",
  ]

  /// Notes whether a script sets the page's base: `createElement("base")`, or writing the tag.
  private mutating func noteBase(_ range: Range<Int>) {
    var cursor = TextCursor(tokens.bytes, range)
    while cursor.seek(text: "base") {
      let before = cursor.at > range.lowerBound ? tokens.bytes[cursor.at - 1] : 0
      let after = cursor.byte(4)
      if before == UInt8(ascii: "<")
        || (before == UInt8(ascii: "\"") || before == UInt8(ascii: "'")) && after == before
      {
        content.hasUnknownBase = true
      }
      cursor.at += 4
    }
  }

  private mutating func importMap(_ range: Range<Int>) {
    guard let map = try? JSONValue.parse(Array(tokens.bytes[range])) else { return }
    for member in map["imports"]?.object?.members ?? [] {
      guard let address = member.value.string else { continue }
      content.importMap.append((member.key, address, range.lowerBound))
    }
  }
}

/// A page's references, and what it says about itself.
struct PageContent {
  var references: [Reference] = []
  /// The `href` of the first `<base>` that has one.
  var base: (text: String, at: Int)?
  /// Whether relative URLs are resolved against a base that only a script or a template knows.
  var hasUnknownBase = false
  /// Whether it is a document of its own, not a part of another page.
  var isDocument = false
  /// Whether it declares its encoding where browsers look for it: a byte order mark, or within 1,024 bytes.
  var saysCharset = false
  /// What a template left in it.
  var templateMarks: [TemplateMarks.Mark] = []
  /// The names that an import map resolves.
  var importMap: [(name: String, address: String, at: Int)] = []
}

/// The candidates of a `srcset` attribute.
enum SourceSet {
  /// Returns each URL and its offset ("parse a srcset attribute", HTML standard, section 4.8.4.3.10).
  static func urls(_ bytes: [UInt8]) -> [(url: String, at: Int)] {
    var urls: [(url: String, at: Int)] = []
    var cursor = TextCursor(bytes, bytes.indices)
    while true {
      cursor.skip { TextBytes.isSpace($0) || $0 == UInt8(ascii: ",") }
      if cursor.isAtEnd { return urls }
      let start = cursor.at
      cursor.skip { !TextBytes.isSpace($0) }
      var end = cursor.at
      while end > start, bytes[end - 1] == UInt8(ascii: ",") { end -= 1 }
      urls.append((TextBytes.text(bytes[start..<end]), start))
      if end == cursor.at { descriptors(&cursor) }
    }
  }

  /// Skips the comma that ends the descriptors, but not one in parentheses.
  private static func descriptors(_ cursor: inout TextCursor) {
    var isInParentheses = false
    while !cursor.isAtEnd {
      let byte = cursor.byte
      cursor.at += 1
      if byte == UInt8(ascii: "(") { isInParentheses = true }
      if byte == UInt8(ascii: ")") { isInParentheses = false }
      if byte == UInt8(ascii: ","), !isInParentheses { return }
    }
  }
}
