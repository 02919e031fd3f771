import BuildCheck
import Manifests

/// What commands are told by flags, environment or `xcache.json`; nil: not said there.
package struct Settings: Hashable, Sendable {
  package var server: BaseURL?
  /// Never from a file: those are shared.
  package var token: String?
  package var app: AppName?
  package var channel: ChannelName?
  /// By name.
  package var bundles: [BundleSettings] = []
  /// What the check of a build leaves out.
  package var check = CheckOptions.all
  /// The `xcache.json` that was read.
  package var file: String?

  package init() {}

  /// These settings, and those of `lower` where these don't say.
  package func over(_ lower: Settings) -> Settings {
    var merged = self
    merged.server = server ?? lower.server
    merged.token = token ?? lower.token
    merged.app = app ?? lower.app
    merged.channel = channel ?? lower.channel
    merged.bundles = bundles.isEmpty ? lower.bundles : bundles
    merged.check.off.formUnion(lower.check.off)
    merged.check.ignore += lower.check.ignore
    merged.file = file ?? lower.file
    return merged
  }

  /// The bundle that the settings know by this name.
  package func bundle(_ name: BundleName) -> BundleSettings? { bundles.first { $0.name == name } }
}

/// What `xcache.json` says of a bundle.
package struct BundleSettings: Hashable, Sendable {
  package struct Folder: Hashable, Sendable {
    /// Absolute, or from the working directory.
    package var path: String
    /// Nil: the bundle's own.
    package var baseURL: BaseURL?

    package init(path: String, baseURL: BaseURL?) {
      self.path = path
      self.baseURL = baseURL
    }
  }

  package var name: BundleName
  package var folders: [Folder] = []
  package var baseURL: BaseURL?
  package var filter = FileFilter()
  package var types: [BundleSource.TypeRule] = []
  package var mapsIndex = false

  package init(_ name: BundleName) { self.name = name }

  /// Every base URL that its files may have.
  package var baseURLs: [BaseURL] { folders.compactMap(\.baseURL) + (baseURL.map { [$0] } ?? []) }

  /// The bundle as it is published, with what flags say in place of the file's.
  /// - Parameter folders: paths; empty: the file's own.
  /// - Throws: `SettingsError` where no folder or no base URL is said.
  package func source(
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
      name, folders: sources, filter: filter, types: types, mapsIndex: mapsIndex ?? self.mapsIndex)
  }
}
