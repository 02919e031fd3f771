import Manifests

/// A bundle as it is to be checked.
package struct CheckedBundle: Sendable {
  package struct File: Sendable {
    let url: ResourceURL
    let ctype: ContentType
    let source: SourceFile
  }

  let files: [File]
  let bases: [BaseURL]
  let filter: FileFilter

  /// The files as they are mapped; those of a zip have to be unpacked.
  /// - Throws: `PublishError` of the scan and the mapping.
  package init(_ bundle: BundleSource) throws(PublishError) {
    self.init(
      files: try Mapping.files(of: bundle).map { File(url: $0.url, ctype: $0.ctype, source: $0.file) },
      of: bundle)
  }

  init(_ resources: [LocalResource], of bundle: BundleSource) {
    self.init(
      files: resources.map { File(url: $0.url, ctype: $0.content.ctype, source: $0.file.source) }, of: bundle)
  }

  private init(files: [File], of bundle: BundleSource) {
    self.files = files
    bases = bundle.folders.map(\.baseURL)
    filter = bundle.filter
  }
}
