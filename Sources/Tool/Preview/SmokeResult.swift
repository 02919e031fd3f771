/// The results for the pages of a build.
package struct SmokeResult: Sendable {
  /// One for each page that was opened.
  package let verdicts: [SmokeVerdict]
  /// How many pages of the build weren't opened because there were too many.
  package let pagesLeftOut: Int
  /// The engine's own name for itself.
  package let engine: String
  /// HTML files that weren't opened because they are parts of other pages.
  package let parts: [String]
  /// How many answers were recorded, and the URLs of those that couldn't be; nil if none were to be.
  package let recorded: (count: Int, others: [String])?
  /// The pictures of pages that are fine, if they were to be kept.
  package let pictures: [SmokePicture]
  /// How long it took.
  package let milliseconds: Int64

  /// The number of problems.
  package var failures: Int { verdicts.reduce(0) { $0 + $1.failures.count } }
  /// The number of notes.
  package var notes: Int { verdicts.reduce(0) { $0 + $1.notes.count } }
  /// The number of pages with problems.
  package var failedPages: Int { verdicts.count { !$0.failures.isEmpty } }
}
