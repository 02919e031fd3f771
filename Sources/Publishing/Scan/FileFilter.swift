/// Which files of a folder are published.
///
/// A file is published when it matches one of `include` (or that is empty), none of `exclude`, and none of
/// `standardExcludes`.
package struct FileFilter: Hashable, Sendable {
  package var include: [Glob]
  package var exclude: [Glob]

  /// What version control and desktops leave in folders and no page ever asks for; never published.
  /// Other names that begin with a dot, such as `.well-known`, are.
  package static let standardExcludes: Set<String> = [".git", ".hg", ".svn", ".DS_Store"]

  package init(include: [Glob] = [], exclude: [Glob] = []) {
    self.include = include
    self.exclude = exclude
  }

  /// Whether `path`, whose last name is `name`, is left out, with all in it if it is a folder.
  func excludes(_ path: String, name: String) -> Bool {
    if FileFilter.standardExcludes.contains(name) { return true }
    return exclude.contains { $0.matches(path) }
  }

  /// Whether the file `path`, which isn't excluded, is asked for.
  func includes(_ path: String) -> Bool {
    include.isEmpty || include.contains { $0.matches(path) }
  }
}
