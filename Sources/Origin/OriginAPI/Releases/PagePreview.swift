import Manifests
import System

/// `POST …/preview`: opens a page of a kept version for looking at it.
///
/// Where the origin serves no previews, it is refused with 409 `preview-off`.
package struct PagePreviewRequest: Codable, Sendable {
  /// A number, or a moment at which the version was live; the newest if it is nil.
  package var version: String?
  /// The URL to open, a page of the version or a route that one answers; nil stands for the first of `pages`.
  package var page: String?

  package init(version: String? = nil, page: String? = nil) {
    self.version = version
    self.page = page
  }
}

/// Where the page can be seen. Everyone who has the address may read the version's files there until `expiresAt`.
package struct PagePreviewAnswer: Codable, Sendable {
  /// The version that is shown.
  package let version: ManifestVersion
  /// The URL that was asked for, as devices know it.
  package let page: String
  /// The same page at an origin of its own, for a frame.
  package let url: String
  /// The URLs of the version's pages, sorted; 200 at most.
  package let pages: [String]
  /// How many further pages there are.
  package let pagesLeftOut: Int
  /// When the address ends.
  package let expiresAt: Moment

  package init(
    version: ManifestVersion, page: String, url: String, pages: [String], pagesLeftOut: Int, expiresAt: Moment
  ) {
    self.version = version
    self.page = page
    self.url = url
    self.pages = pages
    self.pagesLeftOut = pagesLeftOut
    self.expiresAt = expiresAt
  }
}
