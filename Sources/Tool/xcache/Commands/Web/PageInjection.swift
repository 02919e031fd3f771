/// Inserts the line that loads the script into a page.
enum PageInjection {
  /// The result for a page.
  enum Outcome: Equatable {
    /// The page with the line.
    case line([UInt8])
    /// The page already has the line.
    case present
    /// The page has a `<base href>`, and none of its references shows where that leads.
    case unknownBase
  }

  /// Returns the page with the line.
  ///
  /// The line goes before the first script, so that pages report early; else before the end of the head, or after the
  /// doctype. The script's URL has the form of the page's own URLs: a page that a router serves under many paths uses URLs from
  /// the site's root. `depth` is the number of folders between the build's root and the page; `has` returns whether the build
  /// has a file of a name.
  static func injected(into page: [UInt8], depth: Int, has: (String) throws -> Bool) rethrows -> Outcome {
    let small = plain(page)
    if loadsScript(page) { return .present }
    let tags = masked(page)
    let prefix: String
    if let root = try root(of: tags, has: has) {
      prefix = root
    } else if let base = base(of: tags) {
      // The base of the page's relative URLs; if they lead into the build, the script is there, too.
      guard base.hasPrefix("/"), !base.hasPrefix("//"), let slash = base.lastIndex(of: "/"),
        try references(in: tags).contains(where: { try isRelative($0) && has($0) })
      else { return .unknownBase }
      prefix = String(base[...slash])
    } else {
      prefix = String(repeating: "../", count: depth)
    }
    let line = Array("<script src=\"\(prefix)\(WebBuild.scriptName)\" defer></script>".utf8)
    let place = first("<script", in: small) ?? first("</head", in: small) ?? behindDoctype(small)
    return .line(Array(page[..<place] + line + page[place...]))
  }

  /// Whether the page's encoding is ASCII-compatible, so that a line can be inserted.
  static func isReadable(_ page: [UInt8]) -> Bool {
    !page.starts(with: [0xFE, 0xFF]) && !page.starts(with: [0xFF, 0xFE])
  }

  /// Returns the page in lowercase, with only the tags that browsers parse as such.
  static func plain(_ page: [UInt8]) -> [UInt8] { masked(page.map(lowered)) }

  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }

  /// Whether the page already loads the script, by a `src` or in an inline script.
  private static func loadsScript(_ page: [UInt8]) -> Bool {
    let small = masked(page.map(lowered), keepsScripts: true)
    let name = WebBuild.scriptName
    var place = 0
    while let start = first("<script", in: small, from: place) {
      let end = first("</script", in: small, from: start) ?? small.count
      var from = start
      while let found = first(name, in: small, from: from), found < end {
        from = found + name.utf8.count
        let before = small[found - 1]
        let isWhole =
          "/\"'`= ".utf8.contains(before) && (from == end || "?#\"'`> )".utf8.contains(small[from]))
        if isWhole { return true }
      }
      place = end
    }
    return false
  }

  /// Returns the root path of the build, derived from the page's first absolute path that leads to one of its files, or nil if
  /// there is none.
  private static func root(of tags: [UInt8], has: (String) throws -> Bool) rethrows -> String? {
    for path in references(in: tags)
    where path.hasPrefix("/") && !path.hasPrefix("//") && !path.contains("..") {
      for slash in path.indices where path[slash] == "/" {
        let name = path[path.index(after: slash)...]
        if !name.isEmpty, try has(String(name)) { return String(path[...slash]) }
      }
    }
    return nil
  }

  /// Returns the URLs in a page's tags, without queries.
  private static func references(in tags: [UInt8]) -> [String] {
    ["src", "href"].flatMap { values(of: $0, in: tags) }
  }

  /// Returns the values of an attribute, up to a query or fragment. Its name can have any case, with whitespace around `=`.
  private static func values(of attribute: String, in tags: [UInt8]) -> [String] {
    let small = tags.map(lowered)
    var values: [String] = []
    var place = 0
    while let found = first(attribute, in: small, from: place) {
      place = found + attribute.utf8.count
      let rest = tags[place...].drop(while: isSpace)
      guard rest.first == UInt8(ascii: "=") else { continue }
      let value = rest.dropFirst().drop(while: isSpace).drop { "\"'".utf8.contains($0) }
      values.append(
        String(decoding: value.prefix { !isSpace($0) && !"\"'>?#".utf8.contains($0) }, as: UTF8.self))
    }
    return values
  }

  /// Whether a byte is ASCII whitespace (Infra Standard).
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B
  }

  private static func isRelative(_ path: String) -> Bool {
    !path.isEmpty && !path.hasPrefix("/") && !path.hasPrefix(".") && !path.contains(":")
  }

  /// Returns the URL of a `<base>`, or nil if there is none, or it has no effect.
  private static func base(of tags: [UInt8]) -> String? {
    let small = tags.map(lowered)
    var place = 0
    while let start = first("<base", in: small, from: place) {
      let rest = tags[(start + 5)...]
      place = rest.startIndex
      guard let next = rest.first, isSpace(next) || next == UInt8(ascii: "/"),
        let path = values(of: "href", in: Array(rest.prefix { $0 != UInt8(ascii: ">") })).first
      else { continue }
      return ["", ".", "./"].contains(path) ? nil : path
    }
    return nil
  }

  /// Elements whose content isn't part of the page's markup.
  private static let opaque = [
    "script", "style", "template", "textarea", "title", "noscript", "iframe", "xmp",
  ]

  /// Returns the page with everything blanked in which browsers parse no tags: comments, and the content of scripts, styles and
  /// templates. A script in there, such as `<!--[if lt IE 9]><script …`, isn't run.
  private static func masked(_ page: [UInt8], keepsScripts: Bool = false) -> [UInt8] {
    let small = page.map(lowered)
    var masked = page
    func blank(_ range: Range<Int>) { for index in range { masked[index] = UInt8(ascii: " ") } }
    func begins(_ text: String, at place: Int) -> Bool {
      small[place...].starts(with: text.utf8)
    }
    var place = 0
    while let start = first("<", in: small, from: place) {
      if begins("<!--", at: start) {
        let end = first("-->", in: small, from: start + 2).map { $0 + 3 } ?? page.count
        blank(start..<end)
        place = end
        continue
      }
      let next = start + 1 < small.count ? small[start + 1] : 0
      guard (0x61...0x7A).contains(next) || next == UInt8(ascii: "/") else {
        place = start + 1
        continue
      }
      let open = endOfTag(small, from: start)
      place = open
      // Attribute values contain no tags.
      for index in (start + 1)..<open where masked[index] == UInt8(ascii: "<") {
        masked[index] = UInt8(ascii: " ")
      }
      let name = String(
        decoding: small[(start + 1)..<open].prefix { (0x61...0x7A).contains($0) }, as: UTF8.self)
      guard opaque.contains(name) else { continue }
      var end = open
      var left = 1
      while left > 0 {
        let close = first("</\(name)", in: small, from: end)
        // Templates can be nested.
        if name == "template", let close, let inner = first("<template", in: small, from: end), inner < close
        {
          left += 1
          end = inner + 1
        } else {
          left = close == nil ? 0 : left - 1
          end = close.map { left > 0 ? $0 + 1 : $0 } ?? page.count
        }
      }
      if name != "script" || !keepsScripts { blank(open..<max(open, end)) }
      place = max(open, end)
    }
    return masked
  }

  /// Returns the end of a tag, ignoring any `>` in attribute values.
  private static func endOfTag(_ page: [UInt8], from start: Int) -> Int {
    var quote: UInt8?
    for index in start..<page.count {
      let byte = page[index]
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        return index + 1
      }
    }
    return page.count
  }

  private static func behindDoctype(_ page: [UInt8]) -> Int {
    guard let doctype = first("<!doctype", in: page),
      let end = page[doctype...].firstIndex(of: UInt8(ascii: ">"))
    else { return 0 }
    return end + 1
  }

  private static func first(_ text: String, in page: [UInt8], from place: Int = 0) -> Int? {
    let wanted = Array(text.utf8)
    guard let head = wanted.first, page.count - place >= wanted.count else { return nil }
    return (place...page.count - wanted.count).first { start in
      page[start] == head && page[start..<start + wanted.count].elementsEqual(wanted)
    }
  }
}
