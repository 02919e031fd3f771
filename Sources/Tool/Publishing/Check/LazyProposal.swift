import Manifests
import System
import Values

/// What `xcache init` proposes to leave out of updates until a page asks for it: files that most devices never open. Source maps
/// aren't among them, since the file that `init` writes doesn't publish any.
package struct LazyProposal: Hashable, Sendable {
  /// The patterns, sorted; empty if nothing is proposed.
  package let patterns: [String]
  /// Whether the folder has source maps.
  package let hasSourceMaps: Bool

  /// Looks at a folder; proposes nothing if it can't be read.
  package init(_ folder: String) { self.init(of: ((try? Scan.files(in: folder)) ?? []).map(\.path)) }

  /// Looks at files by their paths below the folder.
  package init(of paths: [String]) {
    let files = paths.map(File.init)
    hasSourceMaps = files.contains { $0.ending == "map" }
    patterns = (Self.oldFonts(files) + Self.languages(files)).sorted()
  }

  private struct File {
    /// The path of its folder, with a slash at its end; empty for the top.
    let folder: String
    /// The name without its ending.
    let stem: String
    let ending: String

    init(_ path: String) {
      let name = path.split(separator: "/").last ?? ""
      folder = String(path.dropLast(name.count))
      let dot = name.lastIndex(of: ".") ?? name.endIndex
      stem = String(name[..<dot])
      ending = String(name[dot...].dropFirst()).lowercased()
    }

    var isPage: Bool { PageFallbacks.isDocument(ContentType.of(fileName: "a.\(ending)").text) }

    /// The folder and name without the hash that a bundler put behind `-` or `.`.
    var withoutHash: String {
      for mark in stem.indices.reversed() where stem[mark] == "-" || stem[mark] == "." {
        guard mark > stem.startIndex else { break }
        if Self.isHash(stem[mark...].dropFirst().utf8) { return folder + stem[..<mark] }
      }
      return folder + stem
    }

    /// The folder, and the name up to the first `-`, `_` or `.`, which are part of it: the styles of a font are told behind that.
    var family: String {
      folder + (stem.firstIndex { "-_.".contains($0) }.map { String(stem[...$0]) } ?? stem)
    }

    /// Whether a bundler makes such hashes: of hexadecimal digits, or eight characters of base64url that are no word.
    private static func isHash(_ text: Substring.UTF8View) -> Bool {
      let hex = UInt8(ascii: "a")...UInt8(ascii: "f")
      if text.allSatisfy({ ASCII.isDigit($0) || hex.contains($0) }) { return 6...64 ~= text.count }
      let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
      return text.count == 8 && text.allSatisfy(isOfBase64) && !text.dropFirst().allSatisfy(lower.contains)
    }

    private static func isOfBase64(_ byte: UInt8) -> Bool {
      ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
  }

  // MARK: - Fonts

  /// Patterns for the fonts that every browser with service workers passes over for a woff2 file of the same name: all of an ending,
  /// or those of some families. Of a family a few may have no such file: bundlers put small ones into the styles.
  private static func oldFonts(_ files: [File]) -> [String] {
    let twins = Set(files.filter { $0.ending == "woff2" }.map(\.withoutHash))
    return ["eot", "ttf", "woff"].flatMap { ending -> [String] in
      let families = Dictionary(grouping: files.filter { $0.ending == ending }, by: \.family)
      let old = families.filter { _, fonts in
        4 * fonts.count { twins.contains($0.withoutHash) } >= 3 * fonts.count
      }
      if !old.isEmpty, old.count == families.count { return ["*.\(ending)"] }
      return old.keys.map { family -> String in
        // A pattern without a slash would match at any depth.
        let isWhole = !"-_.".contains(family.last ?? ".")
        return "\(family.contains("/") ? "" : "/")\(escaped(family))\(isWhole ? "" : "*").\(ending)"
      }
    }
  }

  // MARK: - Languages

  /// The fewest files that are taken for an app's languages.
  private static let fewestLanguages = 5

  /// Files whose paths differ only in what stands between two parts, as the languages do in `locales/de.json`.
  private struct Family: Hashable {
    let start: String
    let end: String

    /// The pattern that matches these files, and no others.
    var pattern: String {
      let pattern = "\(LazyProposal.escaped(start))*\(end)"
      // A pattern without a slash would match at any depth.
      return pattern.contains("/") ? pattern : "/\(pattern)"
    }

    /// Whether all files of `other` are also of this family.
    func contains(_ other: Family) -> Bool {
      end == other.end && other.start.hasPrefix(start)
        && !other.start.dropFirst(start.count).contains("/")
    }
  }

  /// Patterns for files that are named by languages, such as `locales/de.json` and `messages.de.json`, or whose folders are, such as
  /// `locales/de/app.json`.
  private static func languages(_ files: [File]) -> [String] {
    let pageFolders = Set(files.filter(\.isPage).map(\.folder))
    var families: [Family: Set<String>] = [:]
    for file in files where !file.ending.isEmpty && !file.isPage {
      let end = ".\(file.ending)"
      families[Family(start: file.folder, end: end), default: []].insert(file.stem)
      for mark in file.stem.indices where "-_.".contains(file.stem[mark]) {
        let family = Family(start: file.folder + file.stem[...mark], end: end)
        families[family, default: []].insert(String(file.stem[mark...].dropFirst()))
      }
      guard let name = file.folder.split(separator: "/").last else { continue }
      let family = Family(start: String(file.folder.dropLast(name.count + 1)), end: "/*\(end)")
      // A language with pages of its own is an app of its own, and no empty name is a language.
      families[family, default: []].insert(pageFolders.contains(file.folder) ? "" : String(name))
    }
    let found = families.filter { $1.count >= fewestLanguages && $1.allSatisfy(LanguageName.isOne) }.keys
    return found.filter { family in !found.contains { $0 != family && $0.contains(family) } }.map(\.pattern)
  }

  /// A path as a pattern: frameworks make some like `[slug]`.
  private static func escaped(_ path: String) -> String {
    path.reduce(into: "") { $0 += "*?[\\".contains($1) ? "\\\($1)" : String($1) }
  }
}

/// Names such as `de`, `pt-BR` and `zh_Hans`, by which apps call the files of their languages.
private enum LanguageName {
  /// Whether `text` is a language, maybe with a script (`Hans`), a region (`BR`, `419`), or both.
  static func isOne(_ text: String) -> Bool {
    let parts = text.split(whereSeparator: { $0 == "-" || $0 == "_" }).map { $0.lowercased() }
    guard let language = parts.first, 1...3 ~= parts.count, languages.contains(language) else { return false }
    return parts.dropFirst().allSatisfy { part in
      let isRegion = part.utf8.count == 3 && part.utf8.allSatisfy(ASCII.isDigit)
      return isRegion
        || (part.utf8.count == 2 || part.utf8.count == 4) && part.utf8.allSatisfy(ASCII.isLetter)
    }
  }

  /// The languages of ISO 639-1, and those of three letters into which apps are often translated.
  private static let languages = Set(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa \
    ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu iw ja jv ka kg ki kj kk kl km kn ko \
    kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa \
    pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty \
    ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ast ceb ckb cmn dsb fil gsw haw hsb kab kmr nds sah szl tok vec yue
    """.split(separator: " ").map(String.init))
}
