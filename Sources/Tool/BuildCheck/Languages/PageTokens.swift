/// A tag of a page, and its attributes.
package struct PageTag {
  /// An attribute, as often as it is written.
  package struct Attribute {
    /// The name in lowercase.
    package let name: String
    /// The raw value, with undecoded character references.
    package let value: Range<Int>
  }

  /// The name in lowercase.
  package fileprivate(set) var name = ""
  /// Whether it is an end tag.
  package fileprivate(set) var isEnd = false
  /// The attributes in order.
  package fileprivate(set) var attributes: [Attribute] = []
  fileprivate(set) var closesItself = false
  /// The offset of its `<`.
  package fileprivate(set) var start = 0
  /// The offset behind its `>`.
  package fileprivate(set) var end = 0

  /// Returns the first attribute with that name; later ones are ignored.
  package func value(_ name: String) -> Range<Int>? { attributes.first { $0.name == name }?.value }
}

/// The tags of a page, according to the tokenizer of the HTML standard (section 13.2.5): comments, doctypes and the text of
/// scripts, styles and titles contain none.
package struct PageTokens {
  private var cursor: TextCursor
  private var foreignDepth = 0
  /// The text of the last script, style or title element.
  package private(set) var rawText: Range<Int>?
  /// The texts before the tag, in order; at the end, those after the last one.
  private(set) var texts: [Range<Int>] = []
  /// Before the tag: instructions such as `<?php … ?>`, and comments that a server reads, such as `<!--#include … -->`.
  private(set) var instructions: [Range<Int>] = []
  private(set) var hasDoctype = false
  /// The offset behind the first doctype; nil if there is none so far, or it has no end.
  package private(set) var doctypeEnd: Int?

  /// The page.
  package var bytes: [UInt8] { cursor.bytes }

  /// Reads a page in an encoding that is compatible with ASCII.
  package init(_ bytes: [UInt8]) {
    cursor = TextCursor(bytes, bytes.indices)
  }

  /// Returns the next tag, or nil at the end. For a script, style or title, `rawText` has its text.
  package mutating func next() -> PageTag? {
    rawText = nil
    texts.removeAll(keepingCapacity: true)
    instructions.removeAll(keepingCapacity: true)
    while true {
      let text = cursor.at
      cursor.seek(UInt8(ascii: "<"))
      if cursor.at > text { texts.append(text..<cursor.at) }
      if cursor.isAtEnd { return nil }
      let start = cursor.at
      cursor.at += 1
      switch cursor.byte {
      case UInt8(ascii: "!"):
        let isForServer = cursor.starts(with: "!--#")
        declaration()
        if isForServer { instructions.append(start..<cursor.at) }
      case UInt8(ascii: "?"):
        bogusComment()
        instructions.append(start..<cursor.at)
      case UInt8(ascii: "/"):
        cursor.at += 1
        if TextBytes.isLetter(cursor.byte) {
          if let tag = tag(start, isEnd: true) { return ended(tag) }
        } else if cursor.byte == UInt8(ascii: ">") {
          cursor.at += 1
        } else {
          bogusComment()
        }
      default:
        if TextBytes.isLetter(cursor.byte), let tag = tag(start, isEnd: false) { return begun(tag) }
      }
    }
  }

  // MARK: What holds no tags

  /// Skips to behind the next `>`; returns false, at the end, if there is none.
  @discardableResult
  private mutating func bogusComment() -> Bool {
    cursor.seek(UInt8(ascii: ">"))
    guard !cursor.isAtEnd else { return false }
    cursor.at += 1
    return true
  }

  /// Skips a declaration; the cursor is after `<`, at `!`.
  private mutating func declaration() {
    if cursor.starts(with: "!--") {
      cursor.at += 3
      comment()
    } else if foreignDepth > 0, cursor.starts(with: "![cdata[") {
      cursor.at = cursor.seek(text: "]]>") ? cursor.at + 3 : cursor.end
    } else {
      let isDoctype = cursor.starts(with: "!doctype")
      let isEnded = bogusComment()
      guard isDoctype else { return }
      hasDoctype = true
      if isEnded, doctypeEnd == nil { doctypeEnd = cursor.at }
    }
  }

  /// Skips a comment from after `<!--`: it ends at `-->` or `--!>`; `<!-->` and `<!--->` are complete.
  private mutating func comment() {
    if cursor.byte == UInt8(ascii: ">") {
      cursor.at += 1
      return
    }
    if cursor.starts(with: "->") {
      cursor.at += 2
      return
    }
    while cursor.seek(text: "--") {
      if cursor.byte(2) == UInt8(ascii: ">") {
        cursor.at += 3
        return
      }
      if cursor.starts(with: "!>", ahead: 2) {
        cursor.at += 4
        return
      }
      cursor.at += 1
    }
  }

  // MARK: Tags

  /// Reads a tag from the first letter of its name; returns nil if the text ends inside the tag.
  private mutating func tag(_ start: Int, isEnd: Bool) -> PageTag? {
    var tag = PageTag(isEnd: isEnd, start: start)
    let name = cursor.at
    cursor.skip { !TextBytes.isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") }
    tag.name = TextBytes.text(cursor.bytes[name..<cursor.at].map(TextBytes.lowered))
    while !cursor.isAtEnd {
      let byte = cursor.byte
      if byte == UInt8(ascii: ">") {
        cursor.at += 1
        tag.end = cursor.at
        return tag
      }
      tag.closesItself = byte == UInt8(ascii: "/") && cursor.byte(1) == UInt8(ascii: ">")
      if TextBytes.isSpace(byte) || byte == UInt8(ascii: "/") {
        cursor.at += 1
      } else {
        attribute(&tag)
      }
    }
    return nil
  }

  private mutating func attribute(_ tag: inout PageTag) {
    let start = cursor.at
    // "before attribute name state": a leading `=` is part of the name.
    cursor.at += 1
    cursor.skip {
      !TextBytes.isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "=")
    }
    let name = TextBytes.text(cursor.bytes[start..<cursor.at].map(TextBytes.lowered))
    cursor.skip { TextBytes.isSpace($0) }
    guard cursor.byte == UInt8(ascii: "=") else {
      tag.attributes.append(.init(name: name, value: cursor.at..<cursor.at))
      return
    }
    cursor.at += 1
    cursor.skip { TextBytes.isSpace($0) }
    tag.attributes.append(.init(name: name, value: value()))
  }

  private mutating func value() -> Range<Int> {
    let quote = cursor.byte
    if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      cursor.at += 1
      let start = cursor.at
      cursor.seek(quote)
      let end = cursor.at
      if !cursor.isAtEnd { cursor.at += 1 }
      return start..<end
    }
    let start = cursor.at
    cursor.skip { !TextBytes.isSpace($0) && $0 != UInt8(ascii: ">") }
    return start..<cursor.at
  }

  private mutating func ended(_ tag: PageTag) -> PageTag {
    if isForeign(tag.name), foreignDepth > 0 { foreignDepth -= 1 }
    return tag
  }

  private func isForeign(_ name: String) -> Bool { name == "svg" || name == "math" }

  /// Skips to the end tag of an element whose text contains no tags.
  private mutating func begun(_ tag: PageTag) -> PageTag {
    if isForeign(tag.name) {
      if !tag.closesItself { foreignDepth += 1 }
      return tag
    }
    switch tag.name {
    case "script", "style":
      if foreignDepth > 0, tag.closesItself { return tag }
      let start = cursor.at
      if tag.name == "script" { script() } else { _ = rawText(of: tag.name) }
      rawText = start..<cursor.at
    case "title" where foreignDepth == 0:
      let start = cursor.at
      _ = rawText(of: tag.name)
      rawText = start..<cursor.at
    case "textarea", "xmp", "iframe", "noembed", "noframes", "noscript":
      // With scripting enabled, the content of noscript is raw text.
      if foreignDepth == 0 { _ = rawText(of: tag.name) }
    case "plaintext": if foreignDepth == 0 { cursor.at = cursor.end }
    default: break
    }
    return tag
  }

  /// Skips to `</name` followed by an end of name; returns false, at the end, if there is none.
  private mutating func rawText(of name: String) -> Bool {
    while true {
      cursor.seek(UInt8(ascii: "<"))
      if cursor.isAtEnd { return false }
      if isTag(name, closing: true) { return true }
      cursor.at += 1
    }
  }

  /// Whether a complete `<name` or `</name` is here.
  private func isTag(_ name: String, closing: Bool) -> Bool {
    if closing, cursor.byte(1) != UInt8(ascii: "/") { return false }
    var ahead = closing ? 2 : 1
    for byte in name.utf8 {
      guard TextBytes.lowered(cursor.byte(ahead)) == byte else { return false }
      ahead += 1
    }
    let after = cursor.byte(ahead)
    return TextBytes.isSpace(after) || after == UInt8(ascii: "/") || after == UInt8(ascii: ">")
  }

  /// Follows the "script data" states: inside `<!--`, a `<script>` hides one `</script>`.
  private mutating func script() {
    var isEscaped = false
    var isTwice = false
    while !cursor.isAtEnd {
      if isEscaped, cursor.starts(with: "-->") {
        isEscaped = false
        isTwice = false
        cursor.at += 3
        continue
      }
      if cursor.byte == UInt8(ascii: "<") {
        if cursor.starts(with: "<!--") {
          isEscaped = true
          // `<!-->` ends itself.
          cursor.at += 2
        } else if isTag("script", closing: true) {
          if !isTwice { return }
          isTwice = false
        } else if isEscaped, isTag("script", closing: false) {
          isTwice = true
        }
      }
      cursor.at += 1
    }
  }
}
