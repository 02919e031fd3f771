import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `/apps/{app}/channels/{channel}/releases/{version}/pictures…`: pictures of a version's pages.
struct PictureHandler: APIHandler {
  let context: RequestContext

  /// Pages of a version.
  static let limit = 20
  /// Bytes of a picture.
  static let largest: Int64 = 1 << 20
  /// Pixels of a side.
  private static let side = 1...16_384

  private func version(of channel: ChannelInfo) throws -> ManifestVersion {
    try store.version(VersionName.read(request.path[5], in: ""), of: channel)
  }

  /// `GET …/pictures`
  func list() throws -> Response {
    let channel = try context.channel()
    let version = try version(of: channel)
    return answer(channel, version, try store.pictures(of: channel, at: version)).response
  }

  /// `POST …/pictures`
  func keep(_ body: PagePicturesRequest) throws -> Response {
    let channel = try context.channel()
    let version = try version(of: channel)
    let pictures = try body.pictures.map { (picture) throws -> PagePicture in
      PagePicture(
        page: try page(picture.page, channel, version), sha256: picture.blob, size: 0, width: picture.width,
        height: picture.height)
    }
    guard (1...Self.limit).contains(pictures.count) else {
      throw Problem.badRequest("\"pictures\" must have 1 to \(Self.limit) pictures; it has \(pictures.count)")
    }
    let kept = try store.pictures(of: channel, at: version).map(\.page)
    guard Set(pictures.map(\.page)).count == pictures.count,
      Set(pictures.map(\.page) + kept).count <= Self.limit
    else {
      throw Problem.badRequest(
        "\"pictures\" names a page twice, or version \(version) would have pictures of more than \(Self.limit) pages"
      )
    }
    let sizes = try store.pictureSizes(of: Array(Set(pictures.map(\.sha256))))
    for picture in pictures { try check(picture, sizes[picture.sha256]) }
    return try context.answering { [self] in
      let answer = answer(channel, version, $0)
      return APIAnswer(answer.document, .created)
    } to: { record in
      try store.keep(pictures, of: channel, at: version, by: actor, record: record)
    }
  }

  /// Returns the URL of a page of the version, or of a route that one answers, in a bundle that the caller may publish.
  private func page(_ text: String, _ channel: ChannelInfo, _ version: ManifestVersion) throws -> ResourceURL
  {
    guard let url = try? ResourceURL(text) else {
      throw Problem.badRequest("\"page\" must be the URL of a page: \(text.prefix(200))")
    }
    let plain = try? ResourceURL(String(url.withoutQuery))
    let page =
      try store.listed(url, of: channel, at: version)
      ?? plain.flatMap { try store.listed($0, of: channel, at: version) }
      ?? fallback(for: url, channel, version)
    guard let page else {
      throw Problem(
        .notFound, "unknown-url",
        "version \(version) has no page \(url), and no page of it answers for that")
    }
    if caller.bundles != nil { for bundle in page.bundles { try caller.check(bundle: bundle) } }
    return url
  }

  private func fallback(for url: ResourceURL, _ channel: ChannelInfo, _ version: ManifestVersion) throws
    -> ListedResource?
  {
    let routes = try store.routes(of: channel, at: version)
    let table = FallbackTable(routes.map { (url: $0.page, ctype: "text/html", fallbacks: $0.fallbacks) })
    return try table[url].flatMap { try store.listed($0, of: channel, at: version) }
  }

  private func check(_ picture: PagePicture, _ size: (bytes: Int64, pixels: PNGSize?)?) throws(Problem) {
    guard let size, size.bytes <= Self.largest, let pixels = size.pixels else {
      throw .badRequest(
        "the picture of \(picture.page) must be a PNG of at most \(Self.largest) bytes: \(picture.sha256)")
    }
    guard pixels.width == picture.width, pixels.height == picture.height, Self.side.contains(pixels.width),
      Self.side.contains(pixels.height)
    else {
      throw .badRequest(
        "the picture of \(picture.page) has \(pixels.width) × \(pixels.height) pixels, not \(picture.width) × "
          + "\(picture.height); at most \(Self.side.upperBound) on a side")
    }
  }

  private func answer(_ channel: ChannelInfo, _ version: ManifestVersion, _ pictures: [PagePicture])
    -> APIAnswer
  {
    let path = "/api/v1/\(ChannelAddress(channel.app, channel.name).path)/releases/\(version)/pictures"
    return APIAnswer(
      PagePictureList(
        version: version,
        pictures: pictures.map {
          .init(
            page: $0.page.text, width: $0.width, height: $0.height, size: $0.size,
            at: Moment(milliseconds: $0.at), href: "\(path)/\($0.sha256)")
        }))
  }

  /// `GET …/pictures/{sha256}`: the PNG, of which nothing runs wherever it is opened.
  func show() throws -> Response {
    let channel = try context.channel()
    let version = try version(of: channel)
    guard let sha256 = SHA256(hex: request.path[7]),
      try store.pictures(of: channel, at: version).contains(where: { $0.sha256 == sha256 })
    else {
      throw Problem(.notFound, "unknown-picture", "version \(version) has no such picture")
    }
    let blob = try store.open(sha256)
    guard blob.size <= Self.largest else { throw StoreError.corruptBlob(sha256) }
    let bytes = try blob.bytes()
    let fields = HeadFields([
      ("Content-Type", "image/png"), ("Cache-Control", "private, no-cache"),
      ("Content-Security-Policy", "default-src 'none'; sandbox"), ("X-Content-Type-Options", "nosniff"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ])
    // In pieces: a PNG doesn't become smaller, so it isn't compressed again.
    return Response(.ok, fields, .pieces([SharedBytes(bytes)]))
  }
}
