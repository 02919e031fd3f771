import Archive
import HTTPClient
import Manifests
import Platform

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
  /// Thrown when there is no answer, after all attempts.
  case unreachable(server: String, HTTPClientError)
  /// Thrown when what answers there isn't an origin: `found` says what was missing.
  case notAnOrigin(server: String, found: String)
  /// Thrown when the origin says no.
  case refused(OriginProblem)
  /// Thrown when the update costs a device more bytes than it may.
  case overBudget(bytes: Int64, limit: Int64)
  /// Thrown when a body arrives broken again and again though the file is as it was.
  case damagedOnTheWay(String)

  package struct Duplicate: Hashable, Sendable {
    package let url: String
    package let files: [String]
  }
}
