/// Finds what a template left in a page: marks that a server or a build tool should have replaced.
///
/// Only what is certain is reported, since frameworks also find their marks in pages:
/// - marks that no browser and no framework reads in a page, such as `<% … %>`, `{% … %}`, `<?php … ?>`, `<!--#include … -->`,
///   `@@include(…)`, `[[${…}]]`, and elements such as `<jsp:include>`;
/// - marks that are also text or a framework's, such as `{{ … }}`, `${…}`, `#{…}` and `__NAME__`, in the title and in the attributes
///   of links, metadata and anything that is fetched; `%NAME%` and `@NAME@` only there. Frameworks replace `{{ … }}` there only if
///   it is theirs, which is then seen by their attributes (`ng-app`, `v-if`, `x-data`);
/// - those elsewhere, if one of the same form has shown that it is a template's, or if the page has no script that could replace it.
///
/// What is in scripts, styles, comments, templates and samples of code isn't looked at.
struct TemplateMarks {
  /// A mark, as it is written, and its offset.
  struct Mark {
    let text: String
    let at: Int

    /// What tells the form of a mark: `{{`, `${`.
    fileprivate var opening: Substring { text.prefix(2) }
  }

  /// Marks that are certain, and those that may be text, or a framework's.
  private var certain: [Mark] = []
  private var uncertain: [Mark] = []
  private var isOfFramework = false
  private var hasScript = false
  /// How many elements are open whose text is a sample or a template.
  private var samples = 0

  /// What the page has; the first is where it is, all are counted.
  var found: [Mark] {
    if isOfFramework { return certain.filter { $0.opening != "{{" } }
    let shown = Set(certain.map(\.opening))
    return (certain + uncertain.filter { !hasScript || shown.contains($0.opening) }).sorted { $0.at < $1.at }
  }

  private static let sampleElements: Set<String> = ["pre", "code", "samp", "kbd", "template"]

  mutating func take(
    _ tag: PageTag, after texts: [Range<Int>], _ instructions: [Range<Int>], raw: Range<Int>?,
    in bytes: [UInt8]
  ) {
    take(texts, instructions, in: bytes)
    if Self.sampleElements.contains(tag.name), !tag.closesItself {
      samples = max(0, samples + (tag.isEnd ? -1 : 1))
    }
    if tag.isEnd { return }
    if tag.name == "script" { hasScript = true }
    if tag.name == "title", let raw { search(raw, isRead: true, in: bytes) }
    if tag.attributes.contains(where: { Self.isOfFramework($0.name) }) { isOfFramework = true }
    guard samples == 0 else { return }
    if Self.isOfServer(tag.name) { certain.append(Mark(text: "<\(tag.name)>", at: tag.start)) }
    for attribute in tag.attributes {
      search(attribute.value, isRead: Self.isRead(attribute.name, of: tag.name), in: bytes)
    }
  }

  /// Takes the texts and instructions before a tag, or those at the end.
  mutating func take(_ texts: [Range<Int>], _ instructions: [Range<Int>], in bytes: [UInt8]) {
    guard samples == 0 else { return }
    for text in texts { search(text, isRead: false, in: bytes) }
    for instruction in instructions where Self.isOfServer(instruction, bytes) {
      certain.append(
        Mark(text: TextBytes.text(bytes[instruction].prefix(Self.limit)), at: instruction.lowerBound))
    }
  }

  /// Attributes by which the frameworks that replace `{{ … }}` in pages are known.
  private static func isOfFramework(_ name: String) -> Bool {
    ["ng-", "data-ng-", "x-ng-", "v-", "x-", ":", "@", "*", "[", "(", "data-bind", "rv-"]
      .contains { name.hasPrefix($0) }
  }

  /// Whether a browser reads the attribute before any script could replace its value, or a server should have (Thymeleaf's).
  private static func isRead(_ attribute: String, of element: String) -> Bool {
    switch attribute {
    case "href", "src", "srcset", "poster", "action", "manifest": true
    case "content": element == "meta"
    case "lang": element == "html"
    case _ where attribute.hasPrefix("th:") || attribute.hasPrefix("data-th-"): true
    default: false
    }
  }

  /// Whether only servers know an element: JSP, its tag library, ESI, Thymeleaf, ColdFusion.
  private static func isOfServer(_ element: String) -> Bool {
    ["jsp:", "esi:", "th:block", "cfoutput", "cfinclude", "cfset"].contains { element.hasPrefix($0) }
      || ["c:out", "c:if", "c:foreach", "c:url", "c:set", "c:choose"].contains(element)
  }

  /// Whether an instruction is `<?php … ?>` or `<?= … ?>`, or a comment such as `<!--#include … -->`; not `<?xml … ?>`.
  private static func isOfServer(_ instruction: Range<Int>, _ bytes: [UInt8]) -> Bool {
    let cursor = TextCursor(bytes, instruction)
    let beginnings: [StaticString] = [
      "<?php", "<?=", "<!--#include", "<!--#echo", "<!--#set", "<!--#if", "<!--#exec", "<!--#config",
    ]
    return beginnings.contains { cursor.starts(with: $0) }
  }

  // MARK: Texts

  /// A form of mark.
  private struct Form {
    let start: StaticString
    let end: StaticString
    /// Whether it is a mark in any text, not only where nothing could replace it.
    var isCertain = true
    /// Whether a name has to follow, so that `{$5}` is none.
    var hasName = false
  }

  /// The forms that have an end; the first that fits counts. All are given in lowercase.
  private static let forms: [Form] = [
    Form(start: "{{", end: "}}", isCertain: false), Form(start: "{%", end: "%}"),
    Form(start: "<%", end: "%>"), Form(start: "{#", end: "#}"), Form(start: "[[${", end: "}]]"),
    Form(start: "[(${", end: "})]"), Form(start: "[%", end: "%]", isCertain: false),
    Form(start: "<?=", end: "?>"), Form(start: "<?php", end: "?>"), Form(start: "$env{", end: "}"),
    Form(start: "${", end: "}", isCertain: false, hasName: true),
    Form(start: "#{", end: "}", isCertain: false, hasName: true),
    Form(start: "{$", end: "}", isCertain: false, hasName: true), Form(start: "@@include(", end: ")"),
    Form(start: "#parse(", end: ")"), Form(start: "#set($", end: ")"), Form(start: "#foreach($", end: ")"),
  ]

  /// The forms that begin with a `<` that begins no tag, which therefore ends the text before; without it.
  private static let afterBracket: [Form] = [
    Form(start: "%", end: "%>"), Form(start: "#if ", end: ">"), Form(start: "#list ", end: ">"),
    Form(start: "#include ", end: ">"), Form(start: "#assign ", end: ">"),
  ]

  /// Forms whose name is in capitals.
  private static let wordForms: [(around: StaticString, inTexts: Bool)] = [("__", true), ("@", false)]

  /// The longest mark that is looked for, in bytes.
  private static let limit = 256

  private mutating func search(_ part: Range<Int>, isRead: Bool, in bytes: [UInt8]) {
    var at = part.lowerBound
    if at > 0, at < part.upperBound, bytes[at - 1] == UInt8(ascii: "<"),
      let form = Self.afterBracket.first(where: { TextCursor(bytes, part).starts(with: $0.start) }),
      let end = Self.end(of: form, at, part, bytes)
    {
      certain.append(Mark(text: TextBytes.text(bytes[(at - 1)..<end]), at: at - 1))
      at = end
    }
    while at < part.upperBound {
      guard "{<[$#@_%".utf8.contains(bytes[at]), let (end, isCertain) = Self.mark(at, part, isRead, bytes)
      else {
        at += 1
        continue
      }
      let mark = Mark(text: TextBytes.text(bytes[at..<end]), at: at)
      if isCertain { certain.append(mark) } else { uncertain.append(mark) }
      at = end
    }
  }

  /// Returns the end of the mark that begins at an offset, and whether it is certain; nil if there is none.
  private static func mark(
    _ at: Int, _ part: Range<Int>, _ isRead: Bool, _ bytes: [UInt8]
  ) -> (end: Int, isCertain: Bool)? {
    let here = TextCursor(bytes, at..<part.upperBound)
    for form in forms where here.starts(with: form.start) {
      if let end = end(of: form, at, part, bytes) { return (end, isRead || form.isCertain) }
    }
    for form in wordForms where (isRead || form.inTexts) && here.starts(with: form.around) {
      if let end = word(at, form.around, part, bytes) { return (end, isRead) }
    }
    return isRead ? percent(at, part, bytes).map { ($0, true) } : nil
  }

  /// The end of a mark that ends in the same part; empty ones say nothing.
  private static func end(of form: Form, _ start: Int, _ part: Range<Int>, _ bytes: [UInt8]) -> Int? {
    let inner = start + form.start.utf8CodeUnitCount
    var cursor = TextCursor(bytes, inner..<max(inner, min(part.upperBound, start + limit)))
    if form.hasName, !TextBytes.isLetter(cursor.byte), cursor.byte != UInt8(ascii: "_") { return nil }
    guard cursor.seek(text: form.end), cursor.at > inner else { return nil }
    return cursor.at + form.end.utf8CodeUnitCount
  }

  /// The end of `__PUBLIC_PATH__`, `@VERSION@`: three letters or more, in capitals, and no part of a longer word.
  private static func word(_ at: Int, _ around: StaticString, _ part: Range<Int>, _ bytes: [UInt8]) -> Int? {
    if at > part.lowerBound, isWord(bytes[at - 1]) { return nil }
    let count = around.utf8CodeUnitCount
    let name = bytes[(at + count)..<part.upperBound].prefix(64).prefix { isCapital($0) }
    guard let first = name.first, !TextBytes.isDigit(first), first != UInt8(ascii: "_") else { return nil }
    // Of `__NAME__`, the name takes the underscores at the end.
    let end = around.utf8Start[0] == UInt8(ascii: "_") ? name.endIndex : name.endIndex + count
    let after = TextCursor(bytes, max(at + count, end - count)..<part.upperBound)
    guard after.starts(with: around), end - at - 2 * count >= 3 else { return nil }
    return end < part.upperBound && isWord(bytes[end]) ? nil : end
  }

  /// The end of `%PUBLIC_URL%`, `%%BASE%%`, `%sveltekit.assets%`; not of `%E4%BD%A0`, which are escapes.
  private static func percent(_ at: Int, _ part: Range<Int>, _ bytes: [UInt8]) -> Int? {
    guard bytes[at] == UInt8(ascii: "%") else { return nil }
    let name = bytes[(at + 1)..<part.upperBound].prefix(64).prefix { isWord($0) || $0 == UInt8(ascii: ".") }
    guard name.endIndex < part.upperBound, bytes[name.endIndex] == UInt8(ascii: "%"), name.count > 2 else {
      return nil
    }
    let isEscape = name.prefix(2).allSatisfy { TextBytes.hexValue($0) != nil }
    let isVariable = name.allSatisfy { isCapital($0) }
    let isKnown = name.starts(with: "sveltekit.".utf8)
    let after = name.endIndex + 1 < part.upperBound ? bytes[name.endIndex + 1] : 0
    let isDoubled = at > part.lowerBound && bytes[at - 1] == UInt8(ascii: "%") && after == UInt8(ascii: "%")
    guard isKnown || isVariable && (!isEscape || isDoubled || name.contains(UInt8(ascii: "_"))),
      !TextBytes.isDigit(name[name.startIndex])
    else { return nil }
    return name.endIndex + 1
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    TextBytes.isLetter(byte) || TextBytes.isDigit(byte) || byte == UInt8(ascii: "_")
  }

  private static func isCapital(_ byte: UInt8) -> Bool {
    byte >= 0x41 && byte <= 0x5A || TextBytes.isDigit(byte) || byte == UInt8(ascii: "_")
  }
}
