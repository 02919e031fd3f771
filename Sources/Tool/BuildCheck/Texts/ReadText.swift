import Values

/// A text with its references.
package struct ReadText {
  package let form: TextForm
  /// The references in order.
  package private(set) var references: [Reference] = []
  private(set) var isDocument = false
  private(set) var saysCharset = false
  /// What a template left in the page.
  private(set) var templateMarks: [TemplateMarks.Mark] = []
  /// The names that the page's import map resolves.
  private(set) var importMap: [String] = []
  /// False if the text isn't what its type says.
  private(set) var isReadable = true
  private let own: ResourceURL
  /// The base for relative references; nil if only a script knows it.
  private var base: ResourceURL?

  package init(_ form: TextForm, _ bytes: [UInt8], at url: ResourceURL) {
    self.form = form
    own = url
    base = url
    switch form {
    case .page: read(PageScanner.content(bytes))
    case .style: references = StyleScanner.references(bytes)
    case .script: references = ScriptScanner.content(bytes).references
    case .sourceMap: isReadable = bytes.isEmpty || Self.isSourceMap(bytes)
    case .manifest: read(manifest: bytes)
    }
  }

  /// Returns the absolute URL of a reference, or nil if it isn't an http URL, is a placeholder, refers to the text itself, or
  /// has an unknown base.
  package func url(of reference: Reference) -> ResourceURL? {
    guard !reference.isPlaceholder, let base = URLResolver.isRelative(reference.text) ? base : own,
      case .url(let url) = URLResolver(base: base).resolve(reference.text)
    else { return nil }
    return url
  }

  private mutating func read(_ content: PageContent) {
    isDocument = content.isDocument
    saysCharset = content.saysCharset
    // Parts of pages may be templates of the script that includes them.
    templateMarks = content.isDocument ? content.templateMarks : []
    importMap = content.importMap.map(\.name)
    references = content.references
    if content.hasUnknownBase {
      base = nil
    } else if let given = content.base {
      switch URLResolver(base: own).resolve(given.text) {
      case .url(let url): base = url
      case .itself: break
      // Not an http URL: nothing resolved against it is one, either.
      case .other: base = nil
      }
    }
    if isDocument { return }
    // The page that includes this part determines its base.
    for index in references.indices { references[index].isCertain = false }
  }

  private mutating func read(manifest bytes: [UInt8]) {
    if bytes.isEmpty { return }
    guard let json = try? JSONValue.parse(bytes), json.object != nil else {
      isReadable = false
      return
    }
    references = ManifestScanner.references(json, bytes)
  }

  private static func isSourceMap(_ bytes: [UInt8]) -> Bool {
    let start = bytes.drop { TextBytes.isSpace($0) }
    // The prefix ")]}'" keeps a map from being run as a script, and is part of the format.
    return start.first == UInt8(ascii: "{") || start.starts(with: ")]}'".utf8)
  }
}

/// How a file is read.
package enum TextForm: Sendable {
  case page, style, script, sourceMap, manifest

  /// The form for a content type; nil if such files aren't read.
  package init?(ctype: some StringProtocol, path: some StringProtocol) {
    switch ctype {
    case "text/html", "application/xhtml+xml": self = .page
    case "text/css": self = .style
    case "application/javascript", "text/javascript", "application/x-javascript": self = .script
    case "application/manifest+json": self = .manifest
    default:
      guard path.hasSuffix(".js.map") || path.hasSuffix(".css.map") || path.hasSuffix(".mjs.map") else {
        return nil
      }
      self = .sourceMap
    }
  }

  init?(_ file: CheckedBundle.File) { self.init(ctype: file.ctype.essence, path: file.path) }
}

/// A position in a text as in editors: line and column count from 1, columns in characters.
package struct TextPosition: Hashable, Sendable {
  package let line: Int
  package let column: Int

  /// The position of the byte `at`.
  package init(of at: Int, in bytes: [UInt8]) {
    var line = 1
    var start = 0
    let end = min(at, bytes.count)
    for i in 0..<end where bytes[i] == 0x0A {
      line += 1
      start = i + 1
    }
    self.line = line
    // UTF-8 continuation bytes aren't counted.
    column = 1 + bytes[start..<end].count { $0 & 0xC0 != 0x80 }
  }

  private init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// Returns the position after the bytes that follow this one.
  func advanced(over bytes: ArraySlice<UInt8>) -> TextPosition {
    let next = TextPosition(of: bytes.count, in: Array(bytes))
    return TextPosition(
      line: line + next.line - 1, column: next.line == 1 ? column + next.column - 1 : next.column)
  }
}
