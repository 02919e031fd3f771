import Values

/// Selects the files of a folder that are published.
///
/// A file is published if it matches one of `include` (or that is empty), none of `exclude`, and none of
/// `standardExcludes`.
package struct FileFilter: Hashable, Sendable {
  package var include: [Glob]
  package var exclude: [Glob]

  /// What version control and operating systems leave in folders and no page ever requests; never published.
  /// Other names with a leading dot, such as `.well-known`, are.
  package static let standardExcludes: Set<String> = [".git", ".hg", ".svn", ".DS_Store"]

  package init(include: [Glob] = [], exclude: [Glob] = []) {
    self.include = include
    self.exclude = exclude
  }

  /// Whether `path`, whose last component is `name`, is excluded, with its contents if it is a folder.
  package func excludes(_ path: String, name: String) -> Bool {
    if FileFilter.standardExcludes.contains(name) { return true }
    return exclude.contains { $0.matches(path) }
  }

  /// Whether the file `path`, which isn't excluded, is included.
  package func includes(_ path: String) -> Bool {
    include.isEmpty || include.contains { $0.matches(path) }
  }

  /// Whether a pattern is a precaution, which needn't exclude anything: it is for something that is never published anyway, or
  /// for source maps, which `init` leaves out of every build.
  package static func isStandard(_ exclude: Glob) -> Bool {
    exclude.text == "*.map"
      || exclude.text.split(separator: "/").last.map { standardExcludes.contains(String($0)) } ?? false
  }
}

/// A pattern for file paths: `*`, `?`, `[a-z]`, `[!a-z]`, `**`, and `\` before a literal character.
///
/// - `*` and `?` stay within one name, `?` is one Unicode scalar; `**` as a whole name is any number of folders.
/// - Without a slash inside, the pattern matches a name at any depth: `*.map`. With one, it matches the path from the
///   published folder: `img/*.png`; a leading slash makes that explicit: `/README.md`.
/// - A pattern that matches a folder matches everything in it: `node_modules`.
/// - Matching is case-sensitive; names with a leading dot aren't special.
package struct Glob: Hashable, Sendable {
  package let text: String
  private let parts: [Part]

  private enum Part: Hashable, Sendable {
    case anyFolders
    case name([Token])
  }

  private enum Token: Hashable, Sendable {
    case scalar(Unicode.Scalar)
    case one
    case many
    case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
  }

  /// Parses a pattern; nil if it is empty, has an empty name inside, or a `[` without its `]`.
  package init?(_ text: String) {
    var names = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
    let isAnchored = names.dropLast(names.last?.isEmpty == true ? 1 : 0).count > 1
    if names.count > 1, names.first?.isEmpty == true { names.removeFirst() }
    if names.count > 1, names.last?.isEmpty == true { names.removeLast() }
    guard names.allSatisfy({ !$0.isEmpty }) else { return nil }
    var parts: [Part] = isAnchored ? [] : [.anyFolders]
    for name in names {
      guard let part = Glob.part(name) else { return nil }
      parts.append(part)
    }
    // A match of a folder includes everything in it.
    parts.append(.anyFolders)
    self.parts = parts
    self.text = text
  }

  /// Whether the path with these names, or a folder above it, matches.
  package func matches(_ path: [Substring.UnicodeScalarView]) -> Bool {
    Wildcard.matches(
      parts, path[...], isMany: { $0 == .anyFolders },
      fits: { part, name in
        guard case .name(let tokens) = part else { return true }
        return Glob.matches(tokens, name)
      })
  }

  /// Whether `path`, separated by slashes, or a folder above it, matches.
  package func matches(_ path: String) -> Bool {
    matches(path[...].unicodeScalars.split(separator: "/"))
  }

  private static func matches(_ tokens: [Token], _ name: Substring.UnicodeScalarView) -> Bool {
    Wildcard.matches(
      tokens, name, isMany: { $0 == .many },
      fits: { token, scalar in
        switch token {
        case .scalar(let own): own == scalar
        case .set(let ranges, let isNegated): ranges.contains { $0.contains(scalar) } != isNegated
        case .one, .many: true
        }
      })
  }
}

// MARK: - Reading a pattern

extension Glob {
  private static func part(_ name: Substring.UnicodeScalarView) -> Part? {
    if name.elementsEqual("**".unicodeScalars) { return .anyFolders }
    var rest = name
    var tokens: [Token] = []
    while let scalar = rest.popFirst() {
      switch scalar {
      case "*": if tokens.last != .many { tokens.append(.many) }
      case "?": tokens.append(.one)
      case "[":
        guard let set = set(&rest) else { return nil }
        tokens.append(set)
      case "\\":
        guard let meant = rest.popFirst() else { return nil }
        tokens.append(.scalar(meant))
      default: tokens.append(.scalar(scalar))
      }
    }
    return .name(tokens)
  }

  /// Parses a set up to its `]`; a leading `]` is part of it.
  private static func set(_ rest: inout Substring.UnicodeScalarView) -> Token? {
    let isNegated = rest.first == "!" || rest.first == "^"
    if isNegated { rest.removeFirst() }
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    while let low = rest.popFirst() {
      if low == "]" && !ranges.isEmpty { return .set(ranges, isNegated: isNegated) }
      guard rest.first == "-", let high = rest.dropFirst().first, high != "]" else {
        ranges.append(low...low)
        continue
      }
      guard low <= high else { return nil }
      rest.removeFirst(2)
      ranges.append(low...high)
    }
    return nil
  }
}
