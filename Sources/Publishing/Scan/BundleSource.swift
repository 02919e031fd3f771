import BuildCheck
import Manifests
import System

/// What makes a bundle: folders and how their files become resources.
package struct BundleSource: Hashable, Sendable {
  /// A folder, and the URL that it is published under.
  package struct Folder: Hashable, Sendable {
    package let path: String
    /// The URL of the folder itself.
    package let baseURL: BaseURL
    /// Whether it was made of a zip, for this publish alone.
    var isUnpacked = false

    /// - Parameter path: of a folder, or of a zip that stands for one.
    package init(_ path: String, baseURL: BaseURL) {
      self.path = path
      self.baseURL = baseURL
    }
  }

  /// A content type for the files that match a pattern.
  package struct TypeRule: Hashable, Sendable {
    package let pattern: Glob
    package let ctype: ContentType

    package init(_ pattern: Glob, _ ctype: ContentType) {
      self.pattern = pattern
      self.ctype = ctype
    }
  }

  /// Headers for the files that match a pattern.
  package struct HeaderRule: Hashable, Sendable {
    package let pattern: Glob
    /// nil: such files don't have it, whatever another rule says.
    package let values: [EntryHeaders.Name: EntryHeaders.Value?]

    package init(_ pattern: Glob, _ values: [EntryHeaders.Name: EntryHeaders.Value?]) {
      self.pattern = pattern
      self.values = values
    }
  }

  /// A pattern of a settings file, which is there to match something.
  package struct WrittenPattern: Hashable, Sendable {
    package let pattern: Glob
    /// The settings file, and the keys that lead to the pattern.
    package let file: String
    package let keys: String
    /// Whether it leaves files out.
    package let excludes: Bool

    package init(_ pattern: Glob, file: String, keys: String, excludes: Bool) {
      self.pattern = pattern
      self.file = file
      self.keys = keys
      self.excludes = excludes
    }
  }

  package var name: BundleName
  package var folders: [Folder]
  package var filter: FileFilter
  /// The first that matches counts, before what the file's ending stands for.
  package var types: [TypeRule]
  /// Of those that match a file and name a header the first counts.
  package var headers: [HeaderRule]
  /// Whether `dir/index.html` is also the resource `dir/`.
  package var mapsIndex: Bool
  /// Patterns among the above of which it is told when they match nothing.
  package var written: [WrittenPattern]

  package init(
    _ name: BundleName, folders: [Folder], filter: FileFilter = FileFilter(), types: [TypeRule] = [],
    headers: [HeaderRule] = [], mapsIndex: Bool = false, written: [WrittenPattern] = []
  ) {
    self.name = name
    self.folders = folders
    self.filter = filter
    self.types = types
    self.headers = headers
    self.mapsIndex = mapsIndex
    self.written = written
  }
}
