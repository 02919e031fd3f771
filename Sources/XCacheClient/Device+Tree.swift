import Manifests

extension Device {
  /// Writes the manifest's files as paths below a base URL, into the folder `tree`: those that changed are
  /// written, those that are no longer listed removed.
  ///
  /// - Parameter base: such as `https://m.example.com/app`; URLs elsewhere are left out.
  /// - Throws: `badSetting` for a base that is no http(s) URL; `file`.
  public func writeTree(below base: String) throws(ClientError) -> TreeReport {
    guard let base = try? BaseURL(base) else { throw .badSetting(name: "The tree's base URL", value: base) }
    return try work.withLock { _ throws(ClientError) in
      var writer = TreeWriter(folder, TreePlan(index, below: base))
      try writer.run()
      return writer.report
    }
  }
}
