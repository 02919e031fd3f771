/// Where the line that loads the script goes in a page.
enum PageInjection {
  /// The page with the line; nil where it has it.
  ///
  /// It goes in front of the first script, so that pages tell of themselves early; else where the head ends, or in front of
  /// everything but the doctype. The script's URL is as the page's own ones are: a page that a router serves under many paths
  /// has them from the site's root.
  /// - Parameter depth: folders between the build's and the page.
  /// - Parameter has: whether the build has a file of a name.
  static func injected(into page: [UInt8], depth: Int, has: (String) throws -> Bool) rethrows -> [UInt8]? {
    let small = plain(page)
    guard first("xcache.js", in: small) == nil else { return nil }
    let path = try (root(of: page, has: has) ?? String(repeating: "../", count: depth)) + WebBuild.scriptName
    let line = Array("<script src=\"\(path)\" async></script>".utf8)
    let place = first("<script", in: small) ?? first("</head", in: small) ?? behindDoctype(small)
    return Array(page[..<place] + line + page[place...])
  }

  /// Whether a page is of bytes that hold ASCII as it is, so that a line can go into it.
  static func isReadable(_ page: [UInt8]) -> Bool {
    !page.starts(with: [0xFE, 0xFF]) && !page.starts(with: [0xFF, 0xFE])
  }

  /// The page in lower case, without its comments.
  static func plain(_ page: [UInt8]) -> [UInt8] {
    withoutComments(page.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 })
  }

  /// The path that the build is served under, as the first of the page's references says that leads to one of its files by an
  /// absolute path; nil where none does.
  private static func root(of page: [UInt8], has: (String) throws -> Bool) rethrows -> String? {
    let text = String(decoding: withoutComments(page), as: UTF8.self)
    for attribute in ["src=", "href="] {
      for part in text.components(behind: attribute) {
        let quote = part.first == "'" ? "'" : "\"" as Character
        let path = part.drop { $0 == quote }.prefix { !" \"'>?#".contains($0) }
        guard path.first == "/", !path.hasPrefix("//"), !path.contains("..") else { continue }
        for slash in path.indices where path[slash] == "/" {
          let name = path[path.index(after: slash)...]
          if !name.isEmpty, try has(String(name)) { return String(path[...slash]) }
        }
      }
    }
    return nil
  }

  /// The page with spaces in the place of its comments: a script in one of them, `<!--[if lt IE 9]><script …`, isn't run.
  private static func withoutComments(_ page: [UInt8]) -> [UInt8] {
    var page = page
    var place = 0
    while let start = first("<!--", in: page, from: place) {
      let end = first("-->", in: page, from: start + 2).map { $0 + 3 } ?? page.count
      for index in start..<end { page[index] = UInt8(ascii: " ") }
      place = end
    }
    return page
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

extension String {
  /// What is behind each occurrence of a word.
  fileprivate func components(behind word: String) -> [Substring] {
    var found: [Substring] = []
    var rest = self[...]
    while let start = rest.firstRange(of: word) {
      rest = rest[start.upperBound...]
      found.append(rest)
    }
    return found
  }
}
