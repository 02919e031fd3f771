import System

/// The repository that the tests were built from.
package enum Repository {
  /// The path of the repository: the nearest folder above this file with a `Package.swift`.
  package static let root: String = {
    var folder = DurableFile.parent(of: #filePath)
    while folder != "/" {
      if (try? Kernel.status(folder + "/Package.swift")) != nil { return folder }
      folder = DurableFile.parent(of: folder)
    }
    fatalError("there is no Package.swift above \(#filePath)")
  }()
}
