import BuildCheck
import Manifests
import Publishing
import System
import Values

/// Settings from flags, the environment or `xcache.json`; nil if not given there.
struct Settings: Hashable, Sendable {
  var server: BaseURL?
  /// The token; never from `xcache.json`, which is shared.
  var token: String?
  var app: AppName?
  var channel: ChannelName?
  /// The bundles by name.
  var bundles: [BundleSettings] = []
  /// What the check of a build leaves out.
  var check = CheckOptions.all
  /// Pages that the smoke test doesn't open.
  var smokeIgnores: [Glob] = []
  /// The folder that answers API calls in smoke tests.
  var smokeFixtures: String?
  /// The folder of source maps that go along with the bundles.
  var sourceMaps: String?
  /// Who signs.
  var signWith: SignerSettings?
  /// The path of the root that the app is built with.
  var root: String?
  /// The path of the `xcache.json` that was read.
  var file: String?

  init() {}

  /// Returns these settings, with those of `lower` where they have none.
  func over(_ lower: Settings) -> Settings {
    var merged = self
    merged.server = server ?? lower.server
    merged.token = token ?? lower.token
    merged.app = app ?? lower.app
    merged.channel = channel ?? lower.channel
    merged.bundles = bundles.isEmpty ? lower.bundles : bundles
    merged.check.off.formUnion(lower.check.off)
    merged.check.ignore += lower.check.ignore
    merged.smokeIgnores += lower.smokeIgnores
    merged.smokeFixtures = merged.smokeFixtures ?? lower.smokeFixtures
    merged.sourceMaps = sourceMaps ?? lower.sourceMaps
    merged.signWith = signWith ?? lower.signWith
    merged.root = root ?? lower.root
    merged.file = file ?? lower.file
    return merged
  }

  /// Returns the bundle with this name.
  func bundle(_ name: BundleName) -> BundleSettings? { bundles.first { $0.name == name } }

  /// Returns the bundle to which all of these folders belong, with only these; nil if there is none, or more than one. `base` is the URL
  /// that its files get instead of the bundle's own.
  func bundle(with folders: [String], base: BaseURL?) -> BundleSettings? {
    let parts = bundles.compactMap { $0.part(folders, base: base) }
    return parts.count == 1 ? parts[0] : nil
  }
}

/// The settings of a bundle in `xcache.json`.
struct BundleSettings: Hashable, Sendable {
  struct Folder: Hashable, Sendable {
    /// The path, absolute or relative to the working directory.
    var path: String
    /// The base URL; nil means the bundle's.
    var baseURL: BaseURL?

    init(path: String, baseURL: BaseURL?) {
      self.path = path
      self.baseURL = baseURL
    }
  }

  var name: BundleName
  var folders: [Folder] = []
  var baseURL: BaseURL?
  var filter = FileFilter()
  var types: [BundleSource.TypeRule] = []
  var headers: [BundleSource.HeaderRule] = []
  var fallbacks: [FallbackSettings] = []
  var lazy: [BundleSource.WrittenPattern] = []
  var mapsIndex = false
  /// The file's patterns with their keys.
  var written: [BundleSource.WrittenPattern] = []
  /// Whether these are a part of the files, or have other URLs, so that a fallback's page may be missing.
  private var isPart = false

  init(_ name: BundleName) { self.name = name }

  /// Applies `--include` and `--exclude`. On a part of the configured files, the file's patterns needn't match
  /// any.
  mutating func narrow(include: [Glob], exclude: [Glob]) {
    if !include.isEmpty {
      filter.include = include
      written = []
      isPart = true
    }
    filter.exclude += exclude
    // Who types a pattern means some file.
    written += include.map { .init($0, file: "", keys: "--include", excludes: false) }
    written += exclude.map { .init($0, file: "", keys: "--exclude", excludes: true) }
  }

  /// Returns the bundle with only these folders, if all are its own.
  fileprivate func part(_ paths: [String], base: BaseURL?) -> BundleSettings? {
    func real(_ path: String) -> String { (try? Kernel.realPath(path)) ?? path }
    let own = folders.map { (real($0.path), $0.baseURL) }
    var part = self
    part.folders = paths.compactMap { path in
      own.first { $0.0 == real(path) }.map { Folder(path: path, baseURL: $0.1) }
    }
    guard part.folders.count == paths.count else { return nil }
    if paths.count < folders.count || base.map({ !baseURLs.contains($0) }) ?? false {
      part.written = []
      part.isPart = true
    }
    return part
  }

  /// All base URLs that its files may have.
  var baseURLs: [BaseURL] { folders.compactMap(\.baseURL) + (baseURL.map { [$0] } ?? []) }

  /// Returns the bundle to publish, with flags overriding the file's settings; if no folders are given, the file's are used.
  /// - Throws: `SettingsError` if there is no folder or no base URL, or if a fallback isn't of the base URL's host.
  func source(
    folders given: [String] = [], baseURL override: BaseURL? = nil, mapsIndex: Bool? = nil
  ) throws(SettingsError) -> BundleSource {
    let folders = given.isEmpty ? self.folders : given.map { Folder(path: $0, baseURL: nil) }
    guard !folders.isEmpty else { throw SettingsError(.noFolder(name)) }
    var sources: [BundleSource.Folder] = []
    for folder in folders {
      guard let base = override ?? folder.baseURL ?? baseURL else { throw SettingsError(.noBaseURL(name)) }
      sources.append(BundleSource.Folder(folder.path, baseURL: base))
    }
    var source = BundleSource(
      name, folders: sources, filter: filter, types: types, headers: headers,
      fallbacks: try FallbackSettings.rules(fallbacks, for: sources.map(\.baseURL)),
      lazy: lazy, mapsIndex: mapsIndex ?? self.mapsIndex, written: written)
    source.skipsFallbacks = isPart
    return source
  }
}
