import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System
import Trust

/// What a publish did, for its report.
package struct PublishResult: Sendable {
  package let release: OriginAnswer<ReleaseAnswer>
  /// The planned changes of each bundle.
  package let plans: [Plan]
  /// The number of resources in all bundles, and how many files had to be read because their digests weren't cached.
  package let files: Int
  package let filesRead: Int
  /// The size of all resources, in bytes.
  package let bytes: Int64
  /// The files that the origin lacked, and their bytes; in a dry run, what would be sent.
  package let uploaded: Int
  package let uploadedBytes: Int64
  /// The body bytes of all requests, including failed attempts.
  package let bytesSent: Int64
  /// The report of the build's check; nil if nothing changed, so that no file was checked, and all patterns match.
  package let check: CheckReport?
  /// What devices download; nil if the origin couldn't tell.
  package let preparation: OriginAnswer<PreparationAnswer>?
  /// Why the origin couldn't be asked about the finished release; nil if it could.
  package let afterwards: PublishError?

  /// Whether `maxUpdate` was given but there was no update that it could limit.
  package let hasNoLimit: Bool

  /// Whether the files that the origin lacked were sent.
  package let sendsFiles: Bool

  /// What was signed, or had been, and went along with the release.
  package var statements: [Signed<ReleaseStatement>] = []

  /// What was done with source maps; nil if none were given.
  package var sourceMaps: SourceMapReport?

  /// Whether the same files wait for signatures already, so that nothing was done.
  package var isWaitingAlready = false

  package var answer: ReleaseAnswer { release.value }

  /// Whether another release intervened, so that the preparation is about a version that this release doesn't replace.
  package var isOvertaken: Bool {
    guard answer.isChanged, let base = preparation?.value.base else { return false }
    return base != answer.previous
  }

  /// The URLs of pages that are new or have changed, sorted.
  package var changedPages: [String] {
    plans.flatMap(\.put).filter { $0.content.ctype.essence == "text/html" }.map(\.url.text).sorted()
  }

  /// The bundles that the channel didn't have.
  package var createdBundles: [BundleName] { plans.filter { $0.base == .none && $0.added > 0 }.map(\.bundle) }

  package var added: Int64 { answer.bundles.clampedSum { Int64($0.added) } }
  package var changed: Int64 { answer.bundles.clampedSum { Int64($0.changed) } }
  package var removed: Int64 { answer.bundles.clampedSum { Int64($0.removed) } }
}

extension PublishResult {
  /// Creates a result; `uploads` are the files that the origin lacked.
  init(
    of publication: Publication, _ release: OriginAnswer<ReleaseAnswer>, _ uploads: [HashedFile],
    check: CheckReport?, preparation: OriginAnswer<PreparationAnswer>? = nil, afterwards: PublishError? = nil
  ) {
    let (local, options) = (publication.local, publication.options)
    self.init(
      release: release, plans: publication.plans, files: local.bundles.reduce(0) { $0 + $1.resources.count },
      filesRead: local.filesRead, bytes: local.bytes, uploaded: uploads.count,
      uploadedBytes: uploads.reduce(0) { $0 + $1.digest.size }, bytesSent: publication.api.bytesSent,
      check: check, preparation: preparation, afterwards: afterwards,
      hasNoLimit: options.maxUpdate != nil && preparation?.value.cost.isFirst == true,
      sendsFiles: options.sendsFiles)
  }
}
