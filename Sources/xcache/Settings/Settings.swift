import BuildCheck
import Manifests
import Publishing
import System

/// What commands are told by flags, environment or `xcache.json`; nil: not said there.
struct Settings: Hashable, Sendable {
  var server: BaseURL?
  /// Never from a file: those are shared.
  var token: String?
  var app: AppName?
  var channel: ChannelName?
  /// By name.
  var bundles: [BundleSettings] = []
  /// What the check of a build leaves out.
  var check = CheckOptions.all
  /// Files that the smoke test doesn't open, though they are pages.
  var smokeIgnores: [Glob] = []
  /// The `xcache.json` that was read.
  var file: String?

  init() {}

  /// These settings, and those of `lower` where these don't say.
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
    merged.file = file ?? lower.file
    return merged
  }

  /// The bundle that the settings know by this name.
  func bundle(_ name: BundleName) -> BundleSettings? { bundles.first { $0.name == name } }
}

/// What `xcache.json` says of a bundle.
struct BundleSettings: Hashable, Sendable {
  struct Folder: Hashable, Sendable {
    /// Absolute, or from the working directory.
    var path: String
    /// Nil: the bundle's own.
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
  var mapsIndex = false
  /// The file's patterns, each with its place.
  var written: [BundleSource.WrittenPattern] = []

  init(_ name: BundleName) { self.name = name }

  /// Takes in what `--include` and `--exclude` say. Of a part of the files that the settings are about, patterns need
  /// not match any.
  mutating func narrow(include: [Glob], exclude: [Glob]) {
    if !include.isEmpty {
      filter.include = include
      written = []
    }
    filter.exclude += exclude
  }

  /// Every base URL that its files may have.
  var baseURLs: [BaseURL] { folders.compactMap(\.baseURL) + (baseURL.map { [$0] } ?? []) }

  /// The bundle as it is published, with what flags say in place of the file's.
  /// - Parameter folders: paths; empty: the file's own.
  /// - Throws: `SettingsError` where no folder or no base URL is said.
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
    return BundleSource(
      name, folders: sources, filter: filter, types: types, headers: headers,
      mapsIndex: mapsIndex ?? self.mapsIndex, written: written)
  }
}
