/// Where the line that loads the script goes in a page.
enum PageInjection {
  /// The page with the line; nil where it has it.
  ///
  /// It goes in front of the first script, so that pages tell of themselves early; else where the head ends, or in front of
  /// everything but the doctype.
  /// - Parameter depth: folders between the build's and the page.
  static func injected(into page: [UInt8], depth: Int) -> [UInt8]? {
    let small = withoutComments(page.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 })
    guard first("xcache.js", in: small) == nil else { return nil }
    let path = String(repeating: "../", count: depth) + WebBuild.scriptName
    let line = Array("<script src=\"\(path)\" async></script>".utf8)
    let place = first("<script", in: small) ?? first("</head", in: small) ?? behindDoctype(small)
    return Array(page[..<place] + line + page[place...])
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
