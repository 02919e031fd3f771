import Archive
import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// Why nothing was published. `message` is for people, `exitCode` for scripts.
package enum PublishError: Error, Sendable {
  // What is to be published
  /// Thrown when the folder doesn't exist.
  case noFolder(String)
  case notAFolder(String)
  /// Thrown when a zip can't be read, or contains something that is refused.
  case archive(String, ArchiveError)
  /// Thrown when a folder is empty, or everything in it is excluded.
  case nothingToPublish(String)
  case unreadable(String, SystemError)
  /// Thrown for sockets, pipes and devices.
  case notAFile(String)
  /// Thrown for a name whose bytes aren't UTF-8.
  case notUTF8(String)
  case linkToNothing(String)
  case linkInCircle(String)
  case linkLeaves(String, target: String)
  /// Thrown when a file was modified while it was read or sent.
  case changedWhileRead(String)
  /// Thrown when a file's name can't be part of a URL.
  case noURL(file: String, ResourceURLError)
  /// Thrown when files of one bundle have matching URLs, with the files of each URL.
  case duplicates([Duplicate])
  case bundleTwice(BundleName)
  /// Thrown when a page in the settings can't be the fallback that they make of it.
  case fallback(BundleSource.FallbackRule, BundleName, FallbackFault)
  /// Thrown when a pattern of lazy files matches pages, with their paths.
  case lazyPages(BundleSource.WrittenPattern, BundleName, [String])
  /// Thrown when the channel has no such bundle, but others, and none is to be created.
  case newBundle(BundleName, ChannelAddress, others: [BundleName])
  /// Thrown when the release would remove all live pages of a bundle, of which this is one: perhaps folder or base URL are wrong.
  case noPageStays(BundleName, pages: Int, url: String)
  /// Thrown when a folder has no source maps, or as many, and none belongs to a file of the build.
  case noSourceMaps(String, found: Int)
  /// Thrown when the origin is older than source maps.
  case sourceMapsUnknown
  /// Thrown when the check of the build found errors.
  case broken(CheckReport)

  /// Thrown when an app's root asks for signatures, and the release isn't, or can't be, signed as it says.
  case trust(TrustFault)
  /// Thrown when a release that waits for signatures isn't signed here.
  case awaited(AwaitedFault)

  // The origin
  /// Thrown when the origin can't be reached, isn't an origin, or refuses.
  case origin(OriginError)
  /// Thrown when the update would cost a device more bytes than the limit.
  case overBudget(bytes: Int64, limit: Int64)
  /// Thrown when the update's cost is limited, and the origin can't determine it.
  case costUnknown
  /// Thrown when the update's cost is limited, and another release intervened each time it was determined.
  case alwaysOvertaken
  /// Thrown when the release is live, but deltas from this many older versions could not be made.
  case deltasLeft(Int, reason: String?)
  /// Thrown when a body repeatedly arrives damaged though the file hasn't changed.
  case damagedOnTheWay(String)

  /// Runs a request to the origin, and turns its errors into errors of this module.
  static func asking<Value>(_ body: () throws(OriginError) -> Value) throws(PublishError) -> Value {
    do {
      return try body()
    } catch {
      // A file that couldn't be read while it was sent.
      if case .body(let cause as PublishError) = error { throw cause }
      throw .origin(error)
    }
  }

  /// Runs what judges or makes signatures, and turns its errors into errors of this module.
  static func signing<Value>(_ body: () throws(TrustFault) -> Value) throws(PublishError) -> Value {
    do {
      return try body()
    } catch {
      throw .trust(error)
    }
  }

  /// A refusal of purged bytes, with the files that have them: the origin knows only what they were called then.
  func namingPurged(_ local: LocalBundles) -> PublishError {
    guard case .origin(.refused(let problem)) = self, problem.code == "purged" else { return self }
    let names = problem.members["sha256"]?.array ?? []
    let digests = Set(names.compactMap { $0.string.flatMap { SHA256(hex: $0) } })
    let resources = local.bundles.flatMap(\.resources).filter { digests.contains($0.content.sha256) }
    guard let first = resources.first else { return self }
    let more = resources.count > 1 ? ", and \(resources.count - 1) more" : ""
    let named = Problem(
      status: problem.status, title: problem.title, code: problem.code,
      detail: "\(first.file.source.path) (\(first.url)\(more)) has bytes that were purged: "
        + (problem.detail ?? problem.title),
      members: problem.members)
    return .origin(.refused(named))
  }

  /// Why a page can't be a fallback.
  package enum FallbackFault: Hashable, Sendable {
    /// The bundle has no such file; `near` is what was probably meant.
    case noFile(near: ResourceURL?)
    /// It isn't an html document.
    case noDocument(ContentType)
  }

  /// Files that would all have the same URL.
  package struct Duplicate: Hashable, Sendable {
    package let url: String
    package let files: [String]
  }
}

extension PublishError {
  /// Whether only deltas from older versions are missing.
  package var isAboutOlderVersions: Bool {
    if case .deltasLeft = self { true } else { false }
  }
}
