import BuildCheck
import Manifests
import Publishing
import System
import Values

extension Settings {
  static let fileName = "xcache.json"

  /// Returns the settings of the nearest `xcache.json`, from `folder` upwards; empty if there is none.
  static func file(from folder: String) throws(SettingsError) -> Settings {
    var folder = (try? Kernel.realPath(folder)) ?? folder
    while true {
      let path = folder == "/" ? "/\(fileName)" : "\(folder)/\(fileName)"
      if let settings = try read(path) { return settings }
      if folder == "/" || !folder.utf8.contains(UInt8(ascii: "/")) { return Settings() }
      folder = DurableFile.parent(of: folder)
    }
  }

  /// Returns a file's settings, or nil if it doesn't exist.
  static func read(_ path: String) throws(SettingsError) -> Settings? {
    let bytes: [UInt8]?
    do throws(SystemError) {
      // Opening a FIFO would wait for a writer.
      if let kind = try Kernel.status(path)?.kind, kind != .file {
        throw SystemError("open", on: path, code: .notPermitted)
      }
      bytes = try DurableFile.read(path, limit: 1 << 20)
    } catch {
      throw SettingsError(.unreadable(error.reason), in: path)
    }
    guard let bytes else { return nil }
    return try Settings(json: try SettingsError.parse(bytes, in: path), file: path)
  }

  init(json: JSONValue, file: String) throws(SettingsError) {
    self.file = file
    let folder = DurableFile.parent(of: file)
    try SettingsNode(value: json, file: file).refuseTokens()
    for (key, value) in try SettingsNode(value: json, file: file).members() {
      switch key {
      case "server": server = try SettingsValue.url(value.text("a URL"), in: file, at: value.keys)
      case "app": app = try SettingsValue.app(value.text("a name"), in: file, at: value.keys)
      case "channel": channel = try SettingsValue.channel(value.text("a name"), in: file, at: value.keys)
      case "bundles":
        for (name, bundle) in try value.members() {
          let name = try SettingsValue.bundle(name, in: file, at: bundle.keys)
          bundles.append(try BundleSettings(name, bundle, relativeTo: folder))
        }
      case "check": check = try CheckOptions(value)
      case "smoke":
        for (key, value) in try value.members() {
          switch key {
          case "ignore": smokeIgnores = try value.globs()
          case "fixtures":
            let path = try value.text("a folder")
            smokeFixtures = path.hasPrefix("/") ? path : "\(folder)/\(path)"
          default: throw value.unknown("ignore", "fixtures")
          }
        }
      case "sourceMaps":
        let path = try value.text("a folder")
        sourceMaps = path.hasPrefix("/") ? path : "\(folder)/\(path)"
      case "signWith": signWith = try SignerSettings(value, relativeTo: folder)
      case "root":
        let path = try value.text("the path of a root.json")
        root = path.hasPrefix("/") ? path : "\(folder)/\(path)"
      case let key where BundleSettings.keys.contains(key):
        throw value.misplaced(in: "a bundle: bundles / NAME / \(key)")
      default:
        throw value.unknown(
          "server", "app", "channel", "bundles", "check", "smoke", "sourceMaps", "signWith", "root")
      }
    }
  }
}

extension CheckOptions {
  /// Parses `{"off": [RULE…], "ignore": [PATTERN…]}`.
  init(_ node: SettingsNode) throws(SettingsError) {
    self.init()
    for (key, value) in try node.members() {
      switch key {
      case "off":
        for item in try value.elements() {
          guard let rule = CheckRule(rawValue: try item.text("a rule's name")), rule != .secret else {
            throw item.wanted("a rule: \(CheckRule.list)")
          }
          off.insert(rule)
        }
      case "ignore": ignore = try value.globs()
      default: throw value.unknown("off", "ignore")
      }
    }
  }
}

extension BundleSettings {
  /// The keys of a bundle.
  fileprivate static let keys = [
    "dirs", "baseURL", "include", "exclude", "ctypes", "headers", "fallback", "lazy", "index",
  ]

  init(_ name: BundleName, _ node: SettingsNode, relativeTo folder: String) throws(SettingsError) {
    self.init(name)
    for (key, value) in try node.members() {
      switch key {
      case "dirs":
        for item in try value.elements() { folders.append(try Folder(item, relativeTo: folder)) }
      case "baseURL":
        baseURL = try SettingsValue.folderURL(value.text("a URL"), in: value.file, at: value.keys)
      case "include":
        filter.include = try value.globs()
        written += value.written(filter.include)
      case "exclude":
        filter.exclude = try value.globs()
        written += value.written(filter.exclude.filter { !FileFilter.isStandard($0) }, excludes: true)
      case "ctypes":
        types = try value.typeRules()
        written += value.written(types.map(\.pattern))
      case "headers":
        headers = try value.headerRules()
        written += value.written(headers.map(\.pattern))
      case "fallback": for item in try value.elements() { fallbacks.append(try FallbackSettings(item)) }
      case "lazy": lazy = value.written(try value.globs())
      case "index": mapsIndex = try value.bool()
      case let key where FallbackSettings.keys.contains(key):
        throw value.misplaced(in: "an item of fallback: bundles / \(name) / fallback / item 1 / \(key)")
      default: throw value.unknown(Self.keys)
      }
    }
    // A precaution that is also excluded can't ever match.
    written += lazy.filter { !FileFilter.isStandard($0.pattern) || filter.exclude.contains($0.pattern) }
  }
}

extension BundleSettings.Folder {
  /// Parses a path, or `{"dir": path, "baseURL": URL}`.
  fileprivate init(_ node: SettingsNode, relativeTo folder: String) throws(SettingsError) {
    var path: String?
    var base: BaseURL?
    if node.value.string != nil {
      path = try node.text("a path")
    } else {
      for (key, value) in try node.members() {
        switch key {
        case "dir": path = try value.text("a path")
        case "baseURL":
          base = try SettingsValue.folderURL(value.text("a URL"), in: value.file, at: value.keys)
        default: throw value.unknown("dir", "baseURL")
        }
      }
    }
    guard let path, !path.isEmpty else { throw node.wanted("a path, or an object with \"dir\"") }
    self.init(path: path.hasPrefix("/") ? path : "\(folder)/\(path)", baseURL: base)
  }
}

/// A value of `xcache.json` and its position in the file.
struct SettingsNode {
  let value: JSONValue
  let file: String
  /// The keys from the outermost to this value's.
  var keys: [String] = []

  /// Returns the error that this isn't what was expected.
  func wanted(_ wanted: String) -> SettingsError { SettingsError(.value(wanted: wanted), in: file, at: keys) }

  /// Returns the error that the key is unknown; `known` are the known ones.
  func unknown(_ known: String...) -> SettingsError { unknown(known) }

  func unknown(_ known: [String]) -> SettingsError {
    let nearest = Spelling.nearest(to: keys.last ?? "", among: known)
    return SettingsError(.unknownKey(nearest: nearest), in: file, at: keys)
  }

  /// Returns the error that the key is unknown here, but is one of `owner`.
  func misplaced(in owner: String) -> SettingsError {
    SettingsError(.unknownKey(nearest: nil, place: owner), in: file, at: keys)
  }

  /// Checks that neither values nor keys contain a token, at any depth: some are published, and so public.
  /// - Throws: `token`.
  func refuseTokens() throws(SettingsError) {
    if let id = value.string.flatMap(SafeText.tokenID) {
      throw SettingsError(.token(id: id), in: file, at: keys)
    }
    for element in value.array == nil ? [] : try elements() { try element.refuseTokens() }
    for (key, node) in value.object == nil ? [] : try members() {
      if let id = SafeText.tokenID(in: key) { throw SettingsError(.token(id: id), in: file, at: keys) }
      try node.refuseTokens()
    }
  }

  func text(_ what: String) throws(SettingsError) -> String {
    guard let text = value.string else { throw wanted(what) }
    return text
  }

  func bool() throws(SettingsError) -> Bool {
    guard let bool = value.bool else { throw wanted("true or false") }
    return bool
  }

  func members() throws(SettingsError) -> [(key: String, node: SettingsNode)] {
    guard let object = value.object else { throw wanted("an object: {…}") }
    return object.members.map { ($0.key, SettingsNode(value: $0.value, file: file, keys: keys + [$0.key])) }
  }

  func elements() throws(SettingsError) -> [SettingsNode] {
    guard let array = value.array else { throw wanted("a list: […]") }
    return array.enumerated().map { SettingsNode(value: $1, file: file, keys: keys + ["item \($0 + 1)"]) }
  }

  func globs() throws(SettingsError) -> [Glob] {
    var globs: [Glob] = []
    for element in try elements() { globs.append(try element.glob(element.text("a pattern, such as *.map"))) }
    return globs
  }

  /// Returns patterns of this value with its position.
  func written(_ patterns: [Glob], excludes: Bool = false) -> [BundleSource.WrittenPattern] {
    let keys = keys.joined(separator: " / ")
    return patterns.map { BundleSource.WrittenPattern($0, file: file, keys: keys, excludes: excludes) }
  }

  private func glob(_ text: String) throws(SettingsError) -> Glob {
    guard let glob = Glob(text) else {
      throw wanted("a pattern, such as *.map, not \(text.debugDescription)")
    }
    return glob
  }

  /// Parses `{"pattern": "type/subtype"}`. The longest pattern takes precedence, since an object's keys have no order.
  func typeRules() throws(SettingsError) -> [BundleSource.TypeRule] {
    var rules: [BundleSource.TypeRule] = []
    for (key, node) in try members() {
      let text = try node.text("a content type")
      guard let ctype = ContentType(text) else {
        throw node.wanted("a content type such as text/html;charset=UTF-8, not \(text.debugDescription)")
      }
      rules.append(BundleSource.TypeRule(try node.glob(key), ctype))
    }
    return rules.sorted { $0.pattern.text.utf8.count > $1.pattern.text.utf8.count }
  }

  /// Parses `{"pattern": {"header": "value"}}`, where null cancels the value of a shorter pattern. The longest pattern takes
  /// precedence here, too.
  func headerRules() throws(SettingsError) -> [BundleSource.HeaderRule] {
    var rules: [BundleSource.HeaderRule] = []
    for (key, node) in try members() {
      var values: [EntryHeaders.Name: EntryHeaders.Value?] = [:]
      for (key, node) in try node.members() {
        guard let name = EntryHeaders.Name(key) else {
          let names = EntryHeaders.Name.allCases.map(\.rawValue).joined(separator: ", ")
          throw node.wanted("a header that entries may have: \(names)")
        }
        guard values[name] == nil else { throw node.wanted("given only once, whatever its case") }
        values[name] = .some(node.value.isNull ? nil : try node.headerValue())
      }
      rules.append(BundleSource.HeaderRule(try node.glob(key), values))
    }
    return rules.sorted { $0.pattern.text.utf8.count > $1.pattern.text.utf8.count }
  }

  private func headerValue() throws(SettingsError) -> EntryHeaders.Value {
    let text = try text("the header's value, or null")
    do {
      return try EntryHeaders.Value(text)
    } catch {
      throw wanted("a header's value, one line of ASCII: \(error)")
    }
  }
}
