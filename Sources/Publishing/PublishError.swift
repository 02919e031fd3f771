import Archive
import BuildCheck
import Manifests
import OriginAPI
import System

/// Why nothing was published. `words` says it to people, `exitCode` to scripts.
package enum PublishError: Error, Sendable {
  // What is to be published
  /// Thrown when the folder isn't there.
  case noFolder(String)
  case notAFolder(String)
  /// Thrown when a zip can't be read, or holds what is refused.
  case archive(String, ArchiveError)
  /// Thrown when a folder is empty, or nothing in it is let through.
  case nothingToPublish(String)
  case unreadable(String, SystemError)
  /// Thrown for sockets, pipes and devices.
  case notAFile(String)
  /// Thrown for a name whose bytes aren't UTF-8.
  case notUTF8(String)
  case linkToNothing(String)
  case linkInCircle(String)
  case linkLeaves(String, target: String)
  /// Thrown when a file was written to while it was read or sent.
  case changedWhileRead(String)
  /// Thrown when a file's name can't be part of a URL.
  case noURL(file: String, ResourceURLError)
  /// Thrown when files of one bundle have URLs that match: for each URL, its files.
  case duplicates([Duplicate])
  case bundleTwice(BundleName)
  /// Thrown when the check of the build found errors.
  case broken(CheckReport)

  // The origin
  /// Thrown when the origin can't be reached, isn't one, or says no.
  case origin(OriginError)
  /// Thrown when the update costs a device more bytes than it may.
  case overBudget(bytes: Int64, limit: Int64)
  /// Thrown when an update may cost no more than so much, and the origin can't say what it costs.
  case costUnknown
  /// Thrown when other releases came between each time that it was worked out what an update costs, which has a limit.
  case alwaysOvertaken
  /// Thrown when a body arrives broken again and again though the file is as it was.
  case damagedOnTheWay(String)

  /// What `body` asks of the origin.
  static func asking<Value>(_ body: () throws(OriginError) -> Value) throws(PublishError) -> Value {
    do {
      return try body()
    } catch {
      // A file that could not be read while it was sent.
      if case .body(let cause as PublishError) = error { throw cause }
      throw .origin(error)
    }
  }

  /// Files that would all be one URL.
  package struct Duplicate: Hashable, Sendable {
    package let url: String
    package let files: [String]
  }
}
