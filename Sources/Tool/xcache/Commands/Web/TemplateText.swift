/// What a server's or a build's template language leaves in a page that isn't filled in yet, as far as a line's place depends on it.
enum TemplateText {
  /// What marks begin with, and what ends them; conditions of all of these languages do.
  private static let marks: [(start: StaticString, end: StaticString)] = [
    ("{{", "}}"), ("{%", "%}"), ("{#", "#}"), ("<%", "%>"), ("<?php", "?>"), ("<?=", "?>"), ("[%", "%]"),
    ("<#", ">"), ("<!--#", "-->"), ("<c:", ">"), ("<jsp:", ">"), ("@if", ")"), ("@{", "}"), ("${", "}"),
  ]

  /// Whether a mark is in a text.
  static func isIn(_ text: ArraySlice<UInt8>) -> Bool {
    text.indices.contains { at in begins(text[at...]) }
  }

  /// Whether a page begins with a mark, but for blanks, a byte order mark and comments.
  static func begins(page: [UInt8]) -> Bool {
    var rest = page[...]
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    while true {
      rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
      if begins(rest) { return true }
      guard rest.starts(with: "<!--".utf8) else { return false }
      let ends = rest.indices.first { rest[$0...].starts(with: "-->".utf8) }
      guard let ends else { return false }
      rest = rest[(ends + 3)...]
    }
  }

  /// Whether each mark in a text ends in it: a tokenizer of pages ends an attribute at a blank or quote that belongs to the mark.
  static func isWhole(_ text: String) -> Bool {
    !marks.contains { mark in
      let (start, end) = ("\(mark.start)", "\(mark.end)")
      return text.contains(start) && !text.contains(end)
    }
  }

  private static func begins(_ text: ArraySlice<UInt8>) -> Bool {
    marks.contains { mark in
      mark.start.withUTF8Buffer { text.starts(with: $0) }
    }
  }
}
