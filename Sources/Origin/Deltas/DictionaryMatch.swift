import Compression
import Manifests
import Store

/// What `Use-As-Dictionary` says of a resource: which later downloads it is a good dictionary for (RFC 9842 §2.1).
struct DictionaryMatch: Sendable {
  let store: Store

  /// Live URLs that are looked at for one that would share the pattern; where there are more, there is none.
  private static let mostNeighbours = 512

  /// The field's value; nil where another live resource would have the same pattern.
  ///
  /// - Parameter prefix: what the request path has before the download path, slashes included.
  func field(prefix: String, _ path: DownloadPath, _ url: ResourceURL) -> String? {
    // The name of a very long URL is a hash and says nothing of its relatives.
    guard path.name.text.first != "~" else { return nil }
    let name = Self.pieces(of: url)
    guard isAlone(name, url, path) else { return nil }
    let pattern =
      Self.escaped(prefix + path.space) + "/\(path.appID)/*/*/*/"
      + name.map { $0.map { Self.escaped(ResourceFileName.escaped($0)) } ?? "*" }.joined()
    // A quoted string of structured fields escapes backslashes, as a pattern does (RFC 9651 §3.3.3).
    return "match=\"\(pattern.replacing("\\", with: "\\\\"))\""
  }

  private func isAlone(_ name: [String?], _ url: ResourceURL, _ path: DownloadPath) -> Bool {
    guard name.contains(nil), let first = name.first.flatMap({ $0 }) else { return true }
    guard
      let neighbours = try? store.liveURLs(
        path.channel, app: path.appID, beginning: first, limit: Self.mostNeighbours + 1),
      neighbours.count <= Self.mostNeighbours
    else { return false }
    return !neighbours.contains { $0 != url && Self.covers(name, $0.text) }
  }

  /// The parts of a URL that stay when it is built again; nil stands for a hash-like run.
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

  /// Whether a URL has the pieces in order, with anything for each hash-like run: what the pattern would match.
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

  /// With the characters that mean something in a URL pattern escaped.
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
  /// A part of a URL as it stands in a download URL: escaped as a name, and each percent sign once more.
  static func escaped(_ part: String) -> String {
    PercentEncoding.encodePercents(PercentEncoding.encode(part))
  }
}
