import Manifests

/// The check of builds by themselves, without an origin: what `xcache check` does.
package enum BuildCheck {
  /// The base of a folder whose URL nobody said: what begins at the root of a host is then outside.
  package static func unknownBase() throws(ResourceURLError) -> BaseURL {
    try BaseURL("https://bundle.invalid/of/this/folder")
  }

  /// What is found in `bundles`, zips among them, as one release.
  /// - Throws: `PublishError` of the scan; `duplicates`; `unreadable`.
  package static func report(
    _ bundles: [BundleSource], _ options: CheckOptions = .all
  ) throws(PublishError) -> CheckReport {
    let unpacked = try UnpackedZips(bundles)
    // Its folders are there until the last file is read.
    defer { withExtendedLifetime(unpacked) {} }
    var checked: [CheckedBundle] = []
    for bundle in unpacked.bundles { checked.append(try CheckedBundle(bundle)) }
    return try SiteCheck(checked, options).report()
  }
}
