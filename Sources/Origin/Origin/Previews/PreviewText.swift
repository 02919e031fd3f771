import HTTP

/// Changes to a text that is shown at another origin: absolute URLs of the version's hosts lead to their tickets.
///
/// Only what is written out can be found. A URL that a script puts together asks the network, which the preview's policy refuses.
struct PreviewText: Sendable {
  /// A part of the text, and what is there instead.
  struct Edit: Hashable, Sendable {
    let range: Range<Int>
    let text: [UInt8]
  }

  /// Changes beyond that aren't made; such a text is no page of a person's.
  static let editLimit = 8_192

  /// The hosts, each with what stands for it; longer ones first.
  private let hosts: [(name: [UInt8], authority: [UInt8])]
  /// The scheme of the previews, with its colon.
  private let scheme: [UInt8]

  init(_ version: PreviewedVersion, _ address: PreviewAddress) {
    self.init(
      version.hosts.map { ($0.authority, address.authority(of: $0.label)) }, scheme: address.scheme)
  }

  /// - Parameters:
  ///   - hosts: the hosts with their ports, in lowercase, and what stands for each.
  ///   - scheme: that of the latter.
  init(_ hosts: [(name: String, authority: String)], scheme: String) {
    self.hosts = hosts.map { (Array($0.name.utf8), Array($0.authority.utf8)) }
      .sorted { $0.name.count > $1.name.count }
    self.scheme = Array("\(scheme):".utf8)
  }

  /// Returns the changes to a text, in order. A page's `integrity` of scripts and styles goes: their bytes change, too.
  func edits(in text: RawSpan, isPage: Bool) -> [Edit] {
    var edits: [Edit] = []
    var at = 0
    while at < text.byteCount, edits.count < Self.editLimit {
      switch text[at] {
      case UInt8(ascii: "/"), UInt8(ascii: "\\"):
        guard let slashes = Self.slashes(in: text, at: at) else {
          at += 1
          continue
        }
        let edit = edit(in: text, slashes: at..<at + slashes, after: edits.last?.range.upperBound ?? 0)
        at = edit?.range.upperBound ?? at + slashes
        if let edit { edits.append(edit) }
      default: at += 1
      }
    }
    guard isPage else { return edits }
    var all: [Edit] = []
    for edit in (edits + IntegrityScanner.edits(in: text)).sorted(by: {
      $0.range.lowerBound < $1.range.lowerBound
    })
    where edit.range.lowerBound >= all.last?.range.upperBound ?? 0 {
      all.append(edit)
    }
    return all
  }

  /// The length of `//`, or of `\/\/` as strings in JSON have it; nil if neither is there.
  private static func slashes(in text: RawSpan, at: Int) -> Int? {
    if text.has("//", at: at) { return 2 }
    return text.has("\\/\\/", at: at) ? 4 : nil
  }

  /// Returns the change of the URL whose host follows two slashes; nil if it isn't one of the hosts.
  private func edit(in text: RawSpan, slashes: Range<Int>, after end: Int) -> Edit? {
    guard let host = hosts.first(where: { Self.isHost($0.name, in: text, at: slashes.upperBound) }) else {
      return nil
    }
    let hostEnd = slashes.upperBound + host.name.count
    let hasScheme = slashes.lowerBound > end && text[slashes.lowerBound - 1] == UInt8(ascii: ":")
    guard hasScheme else {
      // Not the end of a word or a path: `a//m.example.com`.
      if slashes.lowerBound > 0,
        Self.isOfName(text[slashes.lowerBound - 1]) || text[slashes.lowerBound - 1] == 0x2F
      {
        return nil
      }
      return Edit(range: slashes.upperBound..<hostEnd, text: host.authority)
    }
    for name: StaticString in ["https:", "http:"] {
      let start = slashes.lowerBound - name.utf8CodeUnitCount
      guard start >= end, text.extracting(start..<slashes.lowerBound).equalsIgnoringCase(name),
        start == 0 || !Self.isOfName(text[start - 1])
      else { continue }
      let between = text.extracting(slashes).array
      return Edit(range: start..<hostEnd, text: scheme + between + host.authority)
    }
    return nil
  }

  /// Whether a host is there, and ends there: `m.example.com.evil.org` and `m.example.com:8443` are others.
  private static func isHost(_ name: [UInt8], in text: RawSpan, at: Int) -> Bool {
    let end = at + name.count
    guard end <= text.byteCount, text.extracting(at..<end).equalsIgnoringCase(name.span.bytes) else {
      return false
    }
    guard end < text.byteCount else { return true }
    let next = text[end]
    if next == UInt8(ascii: ":") {
      return !(end + 1 < text.byteCount && text[end + 1] &- UInt8(ascii: "0") < 10)
    }
    return !isOfName(next) && next != UInt8(ascii: "@") && next != UInt8(ascii: "%")
  }

  /// Whether a byte may be within a host's name or a word.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: byte >= 0x80
    }
  }
}

/// Finds the attribute `integrity` of scripts and links in a page.
enum IntegrityScanner {
  /// What it is called instead, which no browser heeds.
  private static let other = Array("data-integrity".utf8)

  static func edits(in text: RawSpan) -> [PreviewText.Edit] {
    var edits: [PreviewText.Edit] = []
    var at = 0
    while at < text.byteCount, edits.count < PreviewText.editLimit {
      guard text[at] == UInt8(ascii: "<"), let name = tag(in: text, at: at) else {
        at += 1
        continue
      }
      let end = attributes(in: text, from: at + 1 + name) { edits.append(.init(range: $0, text: other)) }
      // What a script says isn't markup.
      at = name == 6 ? endOfScript(in: text, from: end) : end
    }
    return edits
  }

  /// The length of the name of a script's or a link's tag; nil for others.
  private static func tag(in text: RawSpan, at: Int) -> Int? {
    for name: StaticString in ["script", "link"] {
      let end = at + 1 + name.utf8CodeUnitCount
      guard end < text.byteCount, text.extracting(at + 1..<end).equalsIgnoringCase(name),
        isBlank(text[end]) || text[end] == UInt8(ascii: ">") || text[end] == UInt8(ascii: "/")
      else { continue }
      return name.utf8CodeUnitCount
    }
    return nil
  }

  /// Calls `found` with the name of each `integrity`; returns where the tag ends.
  private static func attributes(in text: RawSpan, from start: Int, _ found: (Range<Int>) -> Void) -> Int {
    var at = start
    while at < text.byteCount {
      while at < text.byteCount, isBlank(text[at]) || text[at] == UInt8(ascii: "/") { at += 1 }
      guard at < text.byteCount, text[at] != UInt8(ascii: ">") else { return at + 1 }
      let name = at
      repeat { at += 1 } while at < text.byteCount && !isBlank(text[at]) && !isEnd(text[at])
      if text.extracting(name..<at).equalsIgnoringCase("integrity") { found(name..<at) }
      while at < text.byteCount, isBlank(text[at]) { at += 1 }
      guard at < text.byteCount, text[at] == UInt8(ascii: "=") else { continue }
      at += 1
      while at < text.byteCount, isBlank(text[at]) { at += 1 }
      guard at < text.byteCount else { break }
      let quote = text[at]
      if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
        at = (text.firstIndex(of: quote, from: at + 1) ?? text.byteCount) + 1
      } else {
        while at < text.byteCount, !isBlank(text[at]), text[at] != UInt8(ascii: ">") { at += 1 }
      }
    }
    return text.byteCount
  }

  private static func endOfScript(in text: RawSpan, from start: Int) -> Int {
    var at = start
    while at < text.byteCount {
      if text[at] == UInt8(ascii: "<"), at + 8 <= text.byteCount,
        text.extracting(at..<at + 8).equalsIgnoringCase("</script")
      {
        return at
      }
      at += 1
    }
    return text.byteCount
  }

  /// What ends an attribute's name (HTML §13.2.5.33).
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "=") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

extension RawSpan {
  /// Whether a literal is at an offset.
  fileprivate func has(_ literal: StaticString, at: Int) -> Bool {
    let end = at + literal.utf8CodeUnitCount
    return end <= byteCount && extracting(at..<end).equals(literal)
  }
}
