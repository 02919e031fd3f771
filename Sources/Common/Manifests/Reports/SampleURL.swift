/// The URLs in the texts of error samples.
enum SampleURL {
  /// Returns a URL without user name, fragment and values of its query, as one line of at most `limit` bytes: of schemes other than http
  /// and https only the scheme; empty for a text without one.
  static func stripped(
    _ text: ArraySlice<Unicode.Scalar>, limit: Int, _ known: SampleText.Known
  ) -> String {
    guard let colon = endOfScheme(text) else { return "" }
    let scheme = SampleText.line(text[..<colon].lazy.map(lowered), limit: 32)
    let rest = text[(colon + 1)...]
    guard scheme == "https" || scheme == "http", rest.starts(with: "//".unicodeScalars) else {
      return scheme + ":"
    }
    let whole = rest.dropFirst(2).prefix { $0 != "#" }
    let authority = whole.prefix { $0 != "/" && $0 != "?" }
    let host = authority.lastIndex(of: "@").map { authority[($0 + 1)...] } ?? authority
    if host.isEmpty { return scheme + ":" }
    let path = whole[authority.endIndex...].prefix { $0 != "?" }
    var out = Array("\(scheme)://".unicodeScalars) + host
    if let route = known.route, route.address.unicodeScalars.elementsEqual(out + path) {
      return SampleText.line(route.page.unicodeScalars, limit: limit)
    }
    append(path: path, to: &out, known.isListed)
    append(query: whole[path.endIndex...], to: &out)
    return SampleText.line(out, limit: limit)
  }

  private static func append(
    path: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar], _ listed: SampleText.Listing
  ) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    // The question may be a look into a table, and most paths have nothing to hide.
    if !parts.contains(where: namesSomething) || listed(text(out + path)) {
      out += path
      return
    }
    out += parts.map { namesSomething($0) ? ["*"] : $0 }.joined(separator: CollectionOfOne("/"))
  }

  /// Appends a query, which begins with `?` unless it is empty.
  private static func append(query: ArraySlice<Unicode.Scalar>, to out: inout [Unicode.Scalar]) {
    guard let mark = query.first else { return }
    out.append(mark)
    let fields = query.dropFirst().split(separator: "&", omittingEmptySubsequences: false)
    let names = fields.map { field in field.prefix { $0 != "=" } }
    if names.contains(where: { $0.count > 32 || namesSomething($0) }) { return }
    let stripped = zip(fields, names).map { field, name in name.count < field.count ? name + ["="] : name }
    out += stripped.joined(separator: CollectionOfOne("&"))
  }

  /// Whether a part of a URL may name a person or a thing of theirs.
  private static func namesSomething(_ part: ArraySlice<Unicode.Scalar>) -> Bool {
    var (digits, hasDigit) = (0, false)
    for at in part.indices {
      digits = SampleText.isDigit(part[at]) ? digits + 1 : 0
      hasDigit = hasDigit || digits > 0
      if digits == 4 || part[at] == "@" || part[at...].starts(with: "%40".unicodeScalars) { return true }
    }
    return hasDigit && part.count >= 16
  }

  /// Returns the range of the next URL in a message: a scheme with `://`, or the word `data` or `blob` with `:` and something behind it, up
  /// to white space or a quote.
  static func next(in text: [Unicode.Scalar], from start: Int) -> Range<Int>? {
    var at = start
    while at < text.count {
      let run = text[at...].prefix(while: isScheme)
      let rest = text[run.endIndex...]
      if rest.starts(with: "://".unicodeScalars), let first = run.firstIndex(where: SampleText.isLetter) {
        return first..<end(in: text, from: run.endIndex + 3)
      }
      if rest.first == ":", let first = inlineScheme(run, in: text) {
        let end = end(in: text, from: run.endIndex + 1)
        if end > run.endIndex + 1 { return first..<end }
      }
      at = run.endIndex + 1
    }
    return nil
  }

  private static func end(in text: [Unicode.Scalar], from start: Int) -> Int {
    text[start...].firstIndex { SampleText.isSpace($0) || SampleText.isQuote($0) } ?? text.count
  }

  /// Returns where the word `data` or `blob` at the end of a run begins.
  private static func inlineScheme(_ run: ArraySlice<Unicode.Scalar>, in text: [Unicode.Scalar]) -> Int? {
    let word = run.suffix(4).map(lowered)
    guard word.elementsEqual("data".unicodeScalars) || word.elementsEqual("blob".unicodeScalars) else {
      return nil
    }
    let first = run.endIndex - 4
    guard first > 0 else { return first }
    let before = text[first - 1]
    return SampleText.isLetter(before) || SampleText.isDigit(before) || before == "_" ? nil : first
  }

  /// Returns the index of the `:` after a scheme (RFC 3986, section 3.1) at the beginning of a text.
  static func endOfScheme(_ text: ArraySlice<Unicode.Scalar>) -> Int? {
    guard let first = text.first, SampleText.isLetter(first) else { return nil }
    let scheme = text.prefix(while: isScheme)
    return scheme.endIndex < text.endIndex && text[scheme.endIndex] == ":" ? scheme.endIndex : nil
  }

  /// Digits and `.` may be in schemes, too, but a number before a URL would then be shown as a part of its scheme.
  private static func isScheme(_ character: Unicode.Scalar) -> Bool {
    SampleText.isLetter(character) || character == "+" || character == "-"
  }

  private static func lowered(_ character: Unicode.Scalar) -> Unicode.Scalar {
    ("A"..."Z").contains(character) ? Unicode.Scalar(UInt8(character.value | 0x20)) : character
  }

  private static func text(_ characters: some Sequence<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: characters)
    return String(text)
  }
}
