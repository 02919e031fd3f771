import Values

/// Takes what may name a person out of the texts of an error sample (docs/protocol.md, "Reports"): values of queries, e-mail addresses,
/// ids and long numbers. Devices do it before they send a sample, the origin when one arrives; what was stripped stays as it is.
///
/// `docs/vectors/samples.json` has cases. The work is linear in the text, of which at most `longest` characters are looked at.
package enum SampleText {
  /// How many characters of a text are looked at; what follows is dropped.
  static let longest = 4096
  /// The most bytes of a stripped message.
  package static let messageLimit = 512
  /// The most bytes of a stripped URL.
  package static let urlLimit = 1024
  /// The most bytes of a stripped frame of a stack.
  package static let frameLimit = 300
  /// The most bytes of a frame's function.
  static let functionLimit = 64
  /// The most bytes of an engine's name and version.
  package static let engineLimit = 64

  /// Says whether a URL without query and fragment is listed in the version that a sample is about: such a path names a file, not a person.
  package typealias Listing = (String) -> Bool

  /// What is known of URLs while a text is stripped.
  struct Known {
    var isListed: Listing
    /// The address of the page itself without query, where another page answers for it, and that page's URL, which is shown instead.
    var route: (address: String, page: String)?
  }

  /// Returns a message as one line.
  package static func message(_ text: String, listed: @escaping Listing = { _ in false }) -> String {
    message(text, Known(isListed: listed))
  }

  static func message(_ text: String, _ known: Known) -> String {
    message(Self.characters(text), limit: messageLimit, known)
  }

  /// Returns a URL without user name, fragment and values; empty for a text without a scheme.
  package static func url(_ text: String, listed: @escaping Listing = { _ in false }) -> String {
    SampleURL.stripped(Self.characters(text)[...], limit: urlLimit, Known(isListed: listed))
  }

  /// Returns a frame of a stack, `FUNCTION@URL:LINE:COLUMN`.
  package static func frame(_ text: String, listed: @escaping Listing = { _ in false }) -> String {
    frame(text, Known(isListed: listed))
  }

  static func frame(_ text: String, _ known: Known) -> String {
    let parts = FrameParts(characters(text))
    let function = message(parts.function, limit: functionLimit, known)
    let position = parts.position.map { ":\($0.line):\($0.column)" } ?? ""
    let room = frameLimit - 1 - function.utf8.count - position.utf8.count
    return "\(function)@\(SampleURL.stripped(parts.url[...], limit: room, known))\(position)"
  }

  /// Returns an engine's name and major version, for WebKit also the minor one: `Chromium 141`, `WebKit 605.1`.
  package static func engine(_ text: String) -> String {
    let bytes = Array(text.utf8.drop { $0 == UInt8(ascii: " ") }.prefix(engineLimit))
    var name = bytes.prefix { ASCII.isLetter($0) || $0 == UInt8(ascii: " ") }
    let rest = bytes[name.endIndex...]
    while name.last == UInt8(ascii: " ") { name = name.dropLast() }
    let major = rest.prefix(while: ASCII.isDigit)
    if name.isEmpty { return "" }
    if major.isEmpty || major.count > 4 { return String(decoding: name, as: UTF8.self) }
    var version = Array(major)
    let minor = rest.dropFirst(major.count + 1).prefix(while: ASCII.isDigit)
    if name.elementsEqual("WebKit".utf8), rest.dropFirst(major.count).first == UInt8(ascii: "."),
      (1...3).contains(minor.count)
    {
      version += [UInt8(ascii: ".")] + minor
    }
    return "\(String(decoding: name, as: UTF8.self)) \(String(decoding: version, as: UTF8.self))"
  }

  static func characters(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars.prefix(longest)) }

  // MARK: - Lines

  /// Returns one line of at most `limit` bytes: runs of white space and of characters that don't show become a blank.
  static func line(_ text: some Sequence<Unicode.Scalar>, limit: Int) -> String {
    var line = String.UnicodeScalarView()
    var (count, isBlankDue) = (0, false)
    for character in text {
      if isSpace(character) || isHidden(character) {
        isBlankDue = count > 0
        continue
      }
      let size = UTF8.width(character) + (isBlankDue ? 1 : 0)
      if count + size > limit { break }
      if isBlankDue { line.append(" ") }
      line.append(character)
      count += size
      isBlankDue = false
    }
    return String(line)
  }

  private static func message(_ given: [Unicode.Scalar], limit: Int, _ known: Known) -> String {
    let text = withoutJSON(given)
    var out: [Unicode.Scalar] = []
    var at = 0
    while let url = SampleURL.next(in: text, from: at) {
      append(words: text[at..<url.lowerBound], to: &out)
      out += SampleURL.stripped(text[url], limit: urlLimit, known).unicodeScalars
      at = url.upperBound
    }
    append(words: text[at...], to: &out)
    return line(out, limit: limit)
  }

  /// Engines say with which text `JSON.parse` failed, which may be a person's: what is between the first and the last quote goes.
  private static func withoutJSON(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
    guard let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\""), first < last,
      text.indices.contains(where: { text[$0...].starts(with: "JSON".unicodeScalars) })
    else { return text }
    return Array(text[...first]) + "<text>".unicodeScalars + text[last...]
  }

  // MARK: - Words

  /// Appends text outside of URLs, without values of queries: e-mail addresses, ids and long numbers become `<email>`, `<id>` and `<n>`.
  private static func append(words given: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    let text = withoutValues(given)
    var words: [Unicode.Scalar] = []
    append(addresses: text[...], to: &words)
    append(groups: words[...], to: &out)
  }

  /// Returns a text without what stands behind `?`, `&` or `#`, a name and `=`: URLs without a host have queries, too.
  private static func withoutValues(_ text: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
    var out: [Unicode.Scalar] = []
    var (isName, isValue) = (false, false)
    for character in text {
      let ends = isSpace(character) || isQuote(character)
      if isValue, !ends, character != "&" { continue }
      isValue = isName && character == "="
      if character == "?" || character == "&" || character == "#" {
        isName = true
      } else if ends || character == "=" {
        isName = false
      }
      out.append(character)
    }
    return out
  }

  private static func append(addresses text: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    var at = text.startIndex
    while at < text.endIndex {
      let word = text[at...].prefix { !isSpace($0) }
      if isAddress(word) {
        out += "<email>".unicodeScalars
      } else {
        append(ids: word, to: &out)
      }
      at = word.endIndex
      if at < text.endIndex {
        out.append(text[at])
        at += 1
      }
    }
  }

  /// Whether a word without white space has an `@` or `%40` behind its first character and, with one between them, a `.`.
  private static func isAddress(_ word: ArraySlice<Unicode.Scalar>) -> Bool {
    let rest = word.dropFirst()
    guard let dot = word.lastIndex(of: "."),
      let at = rest.indices.first(where: { rest[$0] == "@" || rest[$0...].starts(with: "%40".unicodeScalars) }
      )
    else { return false }
    return dot >= at + (word[at] == "@" ? 2 : 4)
  }

  private static func append(ids word: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    var at = word.startIndex
    while at < word.endIndex {
      let run = word[at...].prefix(while: isIdentifier)
      if run.count >= 16, run.contains(where: isDigit) {
        out += "<id>".unicodeScalars
      } else {
        out += run
      }
      at = run.endIndex
      if at < word.endIndex {
        out.append(word[at])
        at += 1
      }
    }
  }

  /// Appends a text in which at least 7 digits in groups, as in the numbers of phones and of accounts, become `<n>`.
  private static func append(groups text: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    var at = text.startIndex
    while at < text.endIndex {
      let other = text[at...].prefix { !isDigit($0) }
      out += other
      var run = text[other.endIndex...].prefix { isDigit($0) || isBetweenDigits($0) }
      while let last = run.last, !isDigit(last) { run = run.dropLast() }
      if run.count(where: isDigit) >= 7 {
        out += "<n>".unicodeScalars
      } else {
        append(numbers: run, to: &out)
      }
      at = run.endIndex
    }
  }

  private static func append(numbers run: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    var at = run.startIndex
    while at < run.endIndex {
      let digits = run[at...].prefix(while: isDigit)
      if digits.count >= 4 { out += "<n>".unicodeScalars } else { out += digits }
      at = digits.endIndex
      if at < run.endIndex {
        out.append(run[at])
        at += 1
      }
    }
  }

  // MARK: - Characters

  static func isDigit(_ character: Unicode.Scalar) -> Bool { ("0"..."9").contains(character) }

  static func isLetter(_ character: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(character) || ("A"..."Z").contains(character)
  }

  private static func isBetweenDigits(_ character: Unicode.Scalar) -> Bool {
    isSpace(character) || isHidden(character) || "().-/".unicodeScalars.contains(character)
  }

  static func isQuote(_ character: Unicode.Scalar) -> Bool {
    character == "\"" || character == "'" || character == "`"
  }

  private static func isIdentifier(_ character: Unicode.Scalar) -> Bool {
    isLetter(character) || isDigit(character) || character == "_" || character == "-"
  }

  /// White space as in JavaScript: ECMA-262, "White Space" and "Line Terminators".
  static func isSpace(_ character: Unicode.Scalar) -> Bool {
    switch character.value {
    case 0x9...0xD, 0x20, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF: true
    default: false
    }
  }

  /// Characters that don't show, or change the direction of text.
  private static func isHidden(_ character: Unicode.Scalar) -> Bool {
    switch character.value {
    case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
    default: false
    }
  }
}
