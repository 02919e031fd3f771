import Manifests
import System

/// `POST …/releases/{version}/pictures`: keeps pictures of a version's pages, whose bytes were uploaded before. A page that had one
/// gets the new one.
package struct PagePicturesRequest: Codable, Sendable {
  /// One for each page; 20 at most.
  package var pictures: [Picture]

  package init(pictures: [Picture]) { self.pictures = pictures }

  /// A picture of a page.
  package struct Picture: Codable, Hashable, Sendable {
    /// The URL of the page.
    package var page: String
    /// The SHA-256 of its bytes: a PNG of 1 MB at most.
    package var blob: SHA256
    /// In pixels.
    package var width: Int
    package var height: Int

    package init(page: String, blob: SHA256, width: Int, height: Int) {
      self.page = page
      self.blob = blob
      self.width = width
      self.height = height
    }
  }
}

/// `GET …/releases/{version}/pictures`: the pictures that are kept of a version's pages, by URL. None is no error.
package struct PagePictureList: Codable, Sendable {
  package let version: ManifestVersion
  package let pictures: [Picture]

  package init(version: ManifestVersion, pictures: [Picture]) {
    self.version = version
    self.pictures = pictures
  }

  /// A picture of a page.
  package struct Picture: Codable, Hashable, Sendable {
    /// The URL of the page.
    package let page: String
    /// In pixels.
    package let width: Int
    package let height: Int
    /// Bytes of the PNG.
    package let size: Int64
    /// When it was sent.
    package let at: Moment
    /// The path of the PNG at the origin, which asks for a token as the API does:
    /// `/api/v1/apps/…/releases/553/pictures/{sha256}`.
    package let href: String

    package init(page: String, width: Int, height: Int, size: Int64, at: Moment, href: String) {
      self.page = page
      self.width = width
      self.height = height
      self.size = size
      self.at = at
      self.href = href
    }
  }
}
