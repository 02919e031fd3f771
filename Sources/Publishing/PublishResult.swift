import BuildCheck
import Manifests
import OriginAPI
import System

/// What a publish did, for the words that tell of it.
package struct PublishResult: Sendable {
  package let release: OriginAnswer<ReleaseAnswer>
  /// What was found to change, bundle by bundle, before the origin was asked.
  package let plans: [Plan]
  /// Resources in all bundles, and how many files were read because nothing was kept of them.
  package let files: Int
  package let filesRead: Int
  /// Bytes of all resources.
  package let bytes: Int64
  /// Files that the origin lacked, and their bytes. In a dry run: what would be sent.
  package let uploaded: Int
  package let uploadedBytes: Int64
  /// Body bytes of all requests, attempts that failed included.
  package let bytesSent: Int64
  /// What the check of the build found; nil where nothing changed, so that no file was checked, and all patterns match.
  package let check: CheckReport?
  /// What devices download; nil where the origin could not say.
  package let preparation: OriginAnswer<PreparationAnswer>?
  /// Why the origin could not be asked about the release that it had made; nil where it could.
  package let afterwards: PublishError?

  /// Whether `maxUpdate` was asked for, and nothing was there to be updated.
  package let hasNoLimit: Bool

  /// Whether the files were sent that the origin lacked.
  package let sendsFiles: Bool

  package var answer: ReleaseAnswer { release.value }

  /// Whether another release came between, so that what was worked out beforehand is about a version that this one doesn't
  /// replace.
  package var isOvertaken: Bool {
    guard answer.isChanged, let base = preparation?.value.base else { return false }
    return base != answer.previous
  }

  package var added: Int64 { answer.bundles.clampedSum { Int64($0.added) } }
  package var changed: Int64 { answer.bundles.clampedSum { Int64($0.changed) } }
  package var removed: Int64 { answer.bundles.clampedSum { Int64($0.removed) } }
}

extension PublishResult {
  /// - Parameter uploads: what the origin lacked.
  init(
    _ release: OriginAnswer<ReleaseAnswer>, _ plans: [Plan], _ local: Publisher.LocalBundles,
    _ uploads: [HashedFile], check: CheckReport?, preparation: OriginAnswer<PreparationAnswer>? = nil,
    afterwards: PublishError? = nil, bytesSent: Int64, hasNoLimit: Bool = false, sendsFiles: Bool = true
  ) {
    self.init(
      release: release, plans: plans, files: local.bundles.reduce(0) { $0 + $1.resources.count },
      filesRead: local.filesRead, bytes: local.bytes, uploaded: uploads.count,
      uploadedBytes: uploads.reduce(0) { $0 + $1.digest.size }, bytesSent: bytesSent, check: check,
      preparation: preparation, afterwards: afterwards, hasNoLimit: hasNoLimit, sendsFiles: sendsFiles)
  }
}
