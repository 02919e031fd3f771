/// What a finding says, without its words.
package enum CheckProblem: Hashable, Sendable {
  /// Why a target may be missing.
  package enum Reason: Hashable, Sendable {
    case unknown
    /// Include or exclude keeps it out.
    case excluded
    /// This is there, in other letters.
    case otherCase(String)
    /// This is there, with the ending that browsers don't add.
    case ending(String)
    /// This is there: the wanted path ends in its path.
    case elsewhere(String)
  }

  case missing(Reference.Kind, target: String, Reason)
  case query(Reference.Kind, target: String)
  case outside(Reference.Kind, target: String, url: String, inside: String)
  case bare(String)
  case mixed(Reference.Kind, target: String)
  case noCharset
  case empty
  case name(characters: String)
  case sameButCase(other: String)
  case notSourceMap
  case notManifest
  case removed(url: String, bundle: String)
  case notRead(bundle: String, files: Int)
  case prefetchPage(String)
  case weight(what: String, files: Int, bytes: Int64, exclude: [String])
  /// `at`: the keys of the settings that lead to it; `excludes`: it was to leave files out.
  case idlePattern(String, at: String, excludes: Bool)
}
