import Values

/// `POST …/rebase`: moves a channel to another public URL.
package struct RebaseRequest: Codable, Sendable {
  package var publicURL: String?
  package var message: String?
  package var breakGlass: String?
  /// Only report what would happen.
  package var dryRun: Bool?

  package init(publicURL: BaseURL, message: String?, breakGlass: String?, dryRun: Bool) {
    self.publicURL = publicURL.text
    self.message = message
    self.breakGlass = breakGlass
    self.dryRun = dryRun
  }
}

/// What a rebase did or, for a dry run, would do.
package typealias RebaseAnswer = ReleaseAct<RebaseDetails>

/// The members of a rebase's answer other than the release's.
package struct RebaseDetails: Codable, Sendable {
  package let publicURL: BaseURL
  /// The public URL before, which has to go on answering.
  package let was: BaseURL
  /// The bytes of the patch from the version before, and gzipped. Devices fetch no file again.
  package let patchBytes: Int64
  package let patchGzipBytes: Int64

  package init(publicURL: BaseURL, was: BaseURL, patchBytes: Int64, patchGzipBytes: Int64) {
    self.publicURL = publicURL
    self.was = was
    self.patchBytes = patchBytes
    self.patchGzipBytes = patchGzipBytes
  }
}
