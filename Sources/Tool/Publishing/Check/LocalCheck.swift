import BuildCheck
import Manifests
import Values

/// Checks builds without an origin, for `xcache check`.
package enum LocalCheck {
  /// The base for a folder whose URL wasn't given: URLs relative to a host's root are outside it.
  package static func unknownBase() throws(ResourceURLError) -> BaseURL {
    try BaseURL("https://bundle.invalid/of/this/folder")
  }

  /// Checks `bundles`, including zips, as one release.
  /// - Throws: `PublishError` of the scan; `duplicates`; `unreadable`.
  package static func report(
    _ bundles: [BundleSource], _ options: CheckOptions = .all
  ) throws(PublishError) -> CheckReport {
    let unpacked = try UnpackedZips(bundles)
    // Keeps its folders until the last file is read.
    defer { withExtendedLifetime(unpacked) {} }
    var checked: [CheckedBundle] = []
    var idle: [BundleSource.WrittenPattern] = []
    for bundle in unpacked.bundles {
      let found = try FoundBundle(bundle)
      checked.append(CheckedBundle(try Mapping.files(of: found), of: bundle))
      idle += found.idle
    }
    let check = SiteCheck(checked, options)
    var report = check.report(try PublishError.reading { () throws(CheckError) in try check.read() })
    report.add(Finding.all(idle).filter(options.wants))
    try PublishError.reading { () throws(CheckError) in try check.addSecrets(to: &report) }
    return report
  }
}

extension LocalCheck {
  /// Pairs the source maps of a folder with the files of `bundles`.
  /// - Throws: `noSourceMaps`; `PublishError` of the scan.
  package static func sourceMaps(_ folder: String, of bundles: [BundleSource]) throws(PublishError)
    -> SourceMapPairing
  {
    let unpacked = try UnpackedZips(bundles)
    defer { withExtendedLifetime(unpacked) {} }
    var files: [SourceFile] = []
    for bundle in unpacked.bundles { files += try Mapping.files(of: bundle).map(\.file) }
    return try SourceMapPairing(folder, files)
  }
}

extension CheckedBundle {
  /// Creates a bundle from mapped files; those of a zip must be unpacked.
  init(_ files: [MappedFile], of bundle: BundleSource) {
    self.init(
      files.map { file in
        var checked = File(file.url, file.ctype, file.fallbacks, file.file)
        checked.isLazy = file.isLazy
        return checked
      }, of: bundle)
  }

  init(_ resources: [BuildFile], of bundle: BundleSource) {
    self.init(
      resources.map { resource in
        let content = resource.content
        var checked = File(resource.url, content.ctype, content.fallbacks, resource.file.source)
        checked.isLazy = content.isLazy
        return checked
      }, of: bundle)
  }

  private init(_ files: [File], of bundle: BundleSource) {
    var files = files
    for folder in bundle.folders {
      guard let zip = folder.zip else { continue }
      for index in files.indices where files[index].location.hasPrefix(folder.path + "/") {
        files[index].shown = zip + files[index].location.dropFirst(folder.path.count)
      }
    }
    self.init(files, bases: bundle.folders.map(\.baseURL), filter: bundle.filter)
  }
}

extension CheckedBundle.File {
  fileprivate init(_ url: ResourceURL, _ ctype: ContentType, _ fallbacks: PageFallbacks, _ file: SourceFile) {
    self.init(url: url, ctype: ctype, location: file.location, path: file.path, size: file.status.size)
    self.fallbacks = fallbacks
  }
}

extension Finding {
  /// Returns the findings for patterns that match nothing; a pattern written twice is reported once.
  static func all(_ idle: [BundleSource.WrittenPattern]) -> [Finding] {
    var seen: Set<BundleSource.WrittenPattern> = []
    return idle.filter { seen.insert($0).inserted }.map { written in
      Finding(
        rule: .pattern, severity: .warning, place: written.file.isEmpty ? nil : written.file, position: nil,
        problem: .idlePattern(
          written.pattern.text, at: written.keys, excludes: written.excludes, below: written.below))
    }
  }
}

extension PublishError {
  /// Runs `body`, and turns errors in reading files into errors of this module.
  static func reading<Value>(_ body: () throws(CheckError) -> Value) throws(PublishError) -> Value {
    do {
      return try body()
    } catch {
      switch error {
      case .unreadable(let location, let error): throw .unreadable(location, error)
      case .gone(let location): throw .changedWhileRead(location)
      }
    }
  }
}
