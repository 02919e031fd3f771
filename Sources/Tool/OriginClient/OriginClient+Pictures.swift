import HTTPClient
import Manifests
import OriginAPI
import System
import Values

/// A picture of a page, to be kept with a release.
package struct PageImage: Sendable {
  /// The page's URL.
  package let page: String
  /// A PNG of at most 1 MB.
  package let png: [UInt8]
  /// In pixels.
  package let width: Int
  package let height: Int

  /// Creates a picture of a page.
  package init(page: String, png: [UInt8], width: Int, height: Int) {
    self.page = page
    self.png = png
    self.width = width
    self.height = height
  }
}

extension OriginClient {
  /// Sends pictures of a version's pages.
  /// - Returns: false if the origin is of a version that keeps none.
  package func keep(
    _ images: [PageImage], of version: ManifestVersion, in channel: ChannelAddress
  ) throws(OriginError) -> Bool {
    let digests = images.map { SHA256.of($0.png) }
    let missing = try missing(of: Array(Set(digests)))
    var sent: Set<SHA256> = []
    for (image, sha256) in zip(images, digests) where missing.contains(sha256) && sent.insert(sha256).inserted
    {
      var call = OriginCall("PUT", "blobs/\(sha256)")
      call.fields = [("Content-MD5", Base64.encode(MD5.of(image.png).bytes))]
      call.body = .bytes(image.png)
      _ = try send(call)
    }
    let request = PagePicturesRequest(
      pictures: zip(images, digests).map {
        .init(page: $0.page, blob: $1, width: $0.width, height: $0.height)
      })
    do {
      let call = OriginCall("POST", "\(channel.path)/releases/\(version)/pictures", request)
      _ = try send(call, as: PagePictureList.self)
      return true
    } catch .refused(let problem) where problem.code == "not-found" {
      return false
    }
  }
}
