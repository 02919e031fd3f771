import BuildCheck
import Manifests
import System
import Values

/// The source of a bundle: its folders, and how their files become resources.
package struct BundleSource: Hashable, Sendable {
  /// A folder, and the URL under which it is published.
  package struct Folder: Hashable, Sendable {
    package let path: String
    /// The URL of the folder itself.
    package let baseURL: BaseURL
    /// The zip that it was unpacked from, for this publish only; nil for other folders.
    var zip: String?
    var isUnpacked: Bool { zip != nil }

    /// Creates a folder; `path` may also be a zip's.
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
    /// The values; nil removes a header, whatever the rules after this one say.
    package let values: [EntryHeaders.Name: EntryHeaders.Value?]

    package init(_ pattern: Glob, _ values: [EntryHeaders.Name: EntryHeaders.Value?]) {
      self.pattern = pattern
      self.values = values
    }
  }

  /// A page that answers the navigations below a prefix that nothing else answers.
  package struct FallbackRule: Hashable, Sendable {
    /// The URL of the page, which is to be a file of the bundle.
    package let page: ResourceURL
    package let rule: PageFallbacks.Rule
    /// The settings file, and the keys of the rule in it.
    package let file: String
    package let keys: String

    package init(_ page: ResourceURL, _ rule: PageFallbacks.Rule, file: String, keys: String) {
      self.page = page
      self.rule = rule
      self.file = file
      self.keys = keys
    }
  }

  /// A pattern in a settings file, which should match something.
  package struct WrittenPattern: Hashable, Sendable {
    package let pattern: Glob
    /// The settings file, and the keys of the pattern in it.
    package let file: String
    package let keys: String
    /// Whether it excludes files.
    package let excludes: Bool
    /// The path of a published folder with which the pattern begins, of one that matches nothing.
    var below: String?

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
  /// The first match applies, before the type that the file's extension stands for.
  package var types: [TypeRule]
  /// For each header, the first match that names it applies.
  package var headers: [HeaderRule]
  /// The pages that answer routes. Together they are valid: no prefix occurs twice.
  package var fallbacks: [FallbackRule]
  /// Whether those of pages that aren't among the files are left out, because only a part of the files is taken.
  package var skipsFallbacks = false
  /// The patterns of files that updates leave out until a page asks for them.
  package var lazy: [WrittenPattern]
  /// Whether `dir/index.html` is also the resource `dir/`.
  package var mapsIndex: Bool
  /// The patterns among these that are reported if they match nothing.
  package var written: [WrittenPattern]

  package init(
    _ name: BundleName, folders: [Folder], filter: FileFilter = FileFilter(), types: [TypeRule] = [],
    headers: [HeaderRule] = [], fallbacks: [FallbackRule] = [], lazy: [WrittenPattern] = [],
    mapsIndex: Bool = false, written: [WrittenPattern] = []
  ) {
    self.name = name
    self.folders = folders
    self.filter = filter
    self.types = types
    self.headers = headers
    self.fallbacks = fallbacks
    self.lazy = lazy
    self.mapsIndex = mapsIndex
    self.written = written
  }
}
