import Compression
import Manifests
import Store
import Values

/// The `Use-As-Dictionary` field of a resource: the later downloads for which it is a good dictionary (RFC 9842 §2.1).
struct DictionaryMatch: Sendable {
  let store: Store

  /// How many live URLs are checked for one that would share the pattern; if there are more, the field is omitted.
  private static let maxNeighbours = 512

  /// Returns the field's value, or nil if another live resource would have the same pattern. `prefix` is what precedes the
  /// download path in the request path, including slashes.
  func field(prefix: String, _ path: DownloadPath, _ url: ResourceURL) -> String? {
    // The name of a very long URL is a hash, which says nothing about related URLs.
    guard path.name.text.first != "~" else { return nil }
    let name = Self.pieces(of: url)
    guard isAlone(name, url, path) else { return nil }
    let pattern =
      Self.escaped(prefix + path.space) + "/\(path.appID)/*/*/*/"
      + name.map { $0.map { Self.escaped(ResourceFileName.escaped($0)) } ?? "*" }.joined()
    // A quoted string of structured fields escapes backslashes, as does a pattern (RFC 9651 §3.3.3).
    return "match=\"\(pattern.replacing("\\", with: "\\\\"))\""
  }

  private func isAlone(_ name: [String?], _ url: ResourceURL, _ path: DownloadPath) -> Bool {
    guard name.contains(nil), let first = name.first.flatMap({ $0 }) else { return true }
    guard
      let neighbours = try? store.liveURLs(
        path.channel, app: path.appID, beginning: first, limit: Self.maxNeighbours + 1),
      neighbours.count <= Self.maxNeighbours
    else { return false }
    return !neighbours.contains { $0 != url && Self.covers(name, $0.text) }
  }

  /// Returns the parts of a URL that stay the same in later builds; nil stands for a hash-like run.
  private static func pieces(of url: ResourceURL) -> [String?] {
    var pieces: [String?] = []
    func add(_ text: String) {
      if case .some(.some(let last)) = pieces.last {
        pieces[pieces.count - 1] = last + text
      } else {
        pieces.append(text)
      }
    }
    var part = ""
    func close() {
      for piece in StableName(path: part).pieces {
        if let piece { add(String(piece)) } else { pieces.append(nil) }
      }
      part = ""
    }
    let start = url.scheme.count + 3 + url.authority.count
    add(String(url.text.prefix(start)))
    for character in url.text.dropFirst(start) {
      if "/?&=".contains(character) {
        close()
        add(String(character))
      } else {
        part.append(character)
      }
    }
    close()
    return pieces.filter { $0 != "" }
  }

  /// Whether a URL has the pieces in order, with anything for each hash-like run, as the pattern would match.
  private static func covers(_ pieces: [String?], _ text: String) -> Bool {
    var rest = Substring(text)
    var isOpen = false
    for (index, piece) in pieces.enumerated() {
      guard let piece else {
        isOpen = true
        continue
      }
      if index == pieces.count - 1, isOpen { return rest.hasSuffix(piece) }
      if isOpen {
        guard let found = rest.firstRange(of: piece) else { return false }
        rest = rest[found.upperBound...]
      } else {
        guard rest.hasPrefix(piece) else { return false }
        rest = rest.dropFirst(piece.count)
      }
      isOpen = false
    }
    return isOpen || rest.isEmpty
  }

  /// Escapes the characters with a meaning in URL patterns.
  private static func escaped(_ text: String) -> String {
    var out = ""
    for character in text {
      if "*+?:{}()\\".contains(character) { out.append("\\") }
      out.append(character)
    }
    return out
  }
}

extension ResourceFileName {
  /// Returns a part of a URL as it appears in a download URL: escaped as a name, with each percent sign escaped again.
  static func escaped(_ part: String) -> String {
    PercentEncoding.encodePercents(PercentEncoding.encode(part))
  }
}
