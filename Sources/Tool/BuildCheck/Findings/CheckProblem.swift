/// What a finding is about, without its wording.
package enum CheckProblem: Hashable, Sendable {
  /// Why a target may be missing.
  package enum Reason: Hashable, Sendable {
    case unknown
    /// The include or exclude patterns leave it out.
    case excluded
    /// A file whose name differs only in case exists.
    case otherCase(String)
    /// A file with this extension, which browsers don't add, exists.
    case ending(String)
    /// A file exists whose path is the end of the wanted one.
    case elsewhere(String)
  }

  case missing(Reference.Kind, target: String, Reason)
  case query(Reference.Kind, target: String)
  case outside(Reference.Kind, target: String, url: String, inside: String)
  case bare(String)
  case mixed(Reference.Kind, target: String)
  /// `url`: what the target leads to at `route`; `base`: the path of the page's own folder.
  case route(Reference.Kind, target: String, route: String, url: String, base: String)
  /// A page loads a lazy file as soon as it opens; `page`: its path, if another file than the page names the lazy one.
  case lazy(Reference.Kind, target: String, page: String?)
  case noCharset
  case empty
  case name(characters: String)
  case sameButCase(other: String)
  case notSourceMap
  case notManifest
  /// A mark of a template, as it is written.
  case template(String)
  case removed(url: String, bundle: String)
  case notRead(bundle: String, files: Int)
  case prefetchPage(String)
  /// `mayBeLazy`: whether somebody may ask for the files, so that updates alone can leave them out.
  case weight(what: String, files: Int, bytes: Int64, exclude: [String], mayBeLazy: Bool = false)
  /// `at`: the pattern's keys in the settings; `excludes`: whether it was to leave files out; `below`: the folder with whose path it
  /// begins, though paths begin below that.
  case idlePattern(String, at: String, excludes: Bool, below: String? = nil)
  /// `path`: the file's below the published folder.
  case secret(Secret, path: String)
  /// `--allow-secret` names no file.
  case idleAllowance(path: String)
}
