import Manifests
import System

/// A page's screenshot, as the engine's program wrote it.
struct Picture {
  let bytes: [UInt8]
  private let size: PNGSize

  private static let limit = 64 << 20

  /// Reads a screenshot; nil if there is none, such as for a page that didn't load.
  init?(reading path: String) throws {
    guard let bytes = try DurableFile.read(path, limit: Self.limit) else { return nil }
    guard let size = PNGSize(head: Array(bytes.prefix(PNGSize.headBytes))) else {
      throw PreviewError.notAPicture
    }
    self.bytes = bytes
    self.size = size
  }

  func write(to path: String) throws { try DurableFile.write(bytes, to: path) }

  /// The same as a release's.
  func ofPage(_ page: PageAddress) -> SmokePicture {
    SmokePicture(page: page.url.text, bytes: bytes, width: size.width, height: size.height)
  }
}

/// A picture of a page that is fine, to be kept with the release.
package struct SmokePicture: Sendable {
  /// The URL of the page, without fragment.
  package let page: String
  /// A PNG.
  package let bytes: [UInt8]
  /// In pixels.
  package let width: Int
  package let height: Int

  /// The most pages whose pictures an origin keeps with a version.
  package static let pages = 20
  /// The most bytes of a picture that it keeps.
  package static let bytes = 1 << 20
}
