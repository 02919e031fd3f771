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
    /// Not a page, but a part of pages that a template language puts together.
    case fragment
  }

  /// Returns the page with the line.
  ///
  /// The line goes before the first script, so that pages report early; else before the end of the head, or after the
  /// doctype. If a template's mark stands before that, it could be a condition: then the line goes to the beginning of the head. A
  /// page with several heads, of which a server sends one, gets it in each. The script's URL has the form of the page's own URLs: a
  /// page that a router serves under many paths uses URLs from the site's root. `depth` is the number of folders between the
  /// build's root and the page; `has` returns whether the build has a file of a name.
  static func injected(into page: [UInt8], depth: Int, has: (String) throws -> Bool) rethrows -> Outcome {
    let markup = PageMarkup(page)
    let places = places(for: markup, in: page)
    if places.isEmpty { return .present }
    if markup.heads.isEmpty, markup.htmlEnd == nil, markup.doctypeEnd == nil,
      TemplateText.begins(page: page)
    {
      return .fragment
    }
    let prefix: String
    if let root = try root(of: markup, has: has) {
      prefix = root
    } else if let base = markup.base, !["", ".", "./"].contains(base) {
      // The base of the page's relative URLs; if they lead into the build, the script is there, too.
      guard base.hasPrefix("/"), !base.hasPrefix("//"), let slash = base.lastIndex(of: "/"),
        try markup.references.contains(where: { try belowBase($0).map(has) ?? false })
      else { return .unknownBase }
      prefix = String(base[...slash])
    } else {
      prefix = String(repeating: "../", count: depth)
    }
    let line = Array(
      "<script src=\"\(prefix)\(WebBuild.scriptName)\"\(nonce(of: markup)) defer></script>".utf8)
    var injected = page
    for place in places.reversed() { injected.insert(contentsOf: line, at: place) }
    return .line(injected)
  }

  /// Returns where the line goes, in order; empty if the page has it.
  private static func places(for markup: PageMarkup, in page: [UInt8]) -> [Int] {
    if markup.heads.count > 1 {
      let ends = markup.heads.dropFirst() + [page.count]
      return zip(markup.heads, ends).filter { head, end in
        !markup.loads.contains { (head..<end).contains($0) }
      }.map(\.0)
    }
    if markup.loadsScript { return [] }
    let place = markup.firstScript ?? markup.headEnd ?? markup.doctypeEnd ?? 0
    if let start = markup.heads.first ?? markup.htmlEnd ?? markup.doctypeEnd, start < place,
      TemplateText.isIn(page[start..<place])
    {
      return [start]
    }
    return [place]
  }

  /// Returns the nonce that the page's scripts have, as an attribute of the line: a server fills it in for both.
  private static func nonce(of markup: PageMarkup) -> String {
    guard let nonce = markup.nonce, TemplateText.isWhole(nonce) else { return "" }
    let quote = nonce.contains("\"") ? "'" : "\""
    return " nonce=\(quote)\(nonce)\(quote)"
  }

  /// Whether the page's encoding is ASCII-compatible, so that a line can be inserted.
  static func isReadable(_ page: [UInt8]) -> Bool {
    !page.starts(with: [0xFE, 0xFF]) && !page.starts(with: [0xFF, 0xFE])
  }

  /// Returns the root path of the build, derived from the page's first absolute path that leads to one of its files, or nil if
  /// there is none.
  private static func root(of markup: PageMarkup, has: (String) throws -> Bool) rethrows -> String? {
    for path in markup.references
    where path.hasPrefix("/") && !path.hasPrefix("//") && !path.contains("..") {
      for slash in path.indices where path[slash] == "/" {
        let name = path[path.index(after: slash)...]
        if !name.isEmpty, try has(String(name)) { return String(path[...slash]) }
      }
    }
    return nil
  }

  /// Returns what a relative path, such as `a.js` or `./a.js`, names below the page's base; nil if it leads elsewhere.
  private static func belowBase(_ path: String) -> String? {
    let name = path.hasPrefix("./") ? path.dropFirst(2) : path[...]
    return name.isEmpty || name.hasPrefix("/") || name.hasPrefix(".") || name.contains(":")
      ? nil : String(name)
  }
}
