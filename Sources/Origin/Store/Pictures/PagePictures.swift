import Manifests
import System
import Values

/// A picture of a page of a kept version.
package struct PagePicture: Hashable, Sendable {
  /// The URL of the page: one that the version lists, or a route that a page of it answers.
  package let page: ResourceURL
  /// The PNG's bytes.
  package let sha256: SHA256
  /// In bytes; what is stored decides.
  package let size: Int64
  /// In pixels.
  package let width: Int
  package let height: Int
  /// When it was sent, in milliseconds since 1970.
  package let at: Int64

  /// Creates a picture of a page. `at` is set when it is kept.
  package init(page: ResourceURL, sha256: SHA256, size: Int64, width: Int, height: Int, at: Int64 = 0) {
    self.page = page
    self.sha256 = sha256
    self.size = size
    self.width = width
    self.height = height
    self.at = at
  }
}

// The pictures of a version's pages. They are sent after its release and go with it. No manifest names them: what devices, mirrors and
// packs are made of are resources, which these aren't.
extension Store {
  /// Makes received files durable, and reads what they are. They stay for an hour without `keep`.
  /// - Returns: for each digest the file's size in bytes, and its size in pixels; nil if it isn't a PNG.
  /// - Throws: `missingBlobs`, `purged`.
  package func pictureSizes(of digests: [SHA256]) throws(StoreError) -> [SHA256: (
    bytes: Int64, pixels: PNGSize?
  )] {
    let missing = try blobs.missing(of: digests)
    guard missing.isEmpty else { throw .missingBlobs(missing) }
    try blobs.persist(Array(blobs.arrived(digests).keys))
    var sizes: [SHA256: (bytes: Int64, pixels: PNGSize?)] = [:]
    for sha256 in digests {
      let found = try StoreError.disk { () throws(SystemError) in try Kernel.openFile(folder.blob(sha256)) }
      guard case .file(let file, let status) = consume found else { throw .missingBlobs([sha256]) }
      let head = try StoreError.disk { () throws(SystemError) in
        try Self.head(of: file, count: PNGSize.headBytes)
      }
      sizes[sha256] = (status.size, PNGSize(head: head))
    }
    return sizes
  }

  private static func head(of file: borrowing Descriptor, count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      var span = bytes.mutableSpan
      let read = try span.withUnsafeMutableBytes { (buffer) throws(SystemError) -> Int in
        try Kernel.read(
          file, at: Int64(filled), into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
      }
      if read == 0 { break }
      filled += read
    }
    return Array(bytes.prefix(filled))
  }

  /// Keeps pictures of a kept version's pages, whose files `pictureSizes` made durable. A page that had one gets the new one.
  /// - Throws: `unknownVersion`, `missingBlobs`.
  package func keep(
    _ pictures: [PagePicture], of channel: ChannelInfo, at version: ManifestVersion, by actor: Actor,
    record: AnswerRecord<[PagePicture]>? = nil
  ) throws(StoreError) -> [PagePicture] {
    let digests = pictures.map(\.sha256)
    let now = clock()
    let kept = try connections.transaction(keeping: record, now: now, isUrgent: false) {
      (db) throws(StoreError) in
      if version == .none { throw .unknownVersion(version) }
      try db.requireKept(version, in: channel.id)
      for picture in pictures {
        try db.insert(picture, of: channel.id, at: version, now: now, persisted: blobs)
      }
      try db.audit(
        AuditEvent(
          "pictures.add", app: channel.app, channel: channel.name,
          parameters: [
            "pages": .strings(pictures.map(\.page.text)), "version": .string(version.text),
          ]), by: actor, now: now)
      return try db.pictures(of: channel.id, at: version)
    }
    blobs.forgetPersisted(digests)
    blobs.releaseReservations(digests)
    return kept
  }

  /// The pictures of a kept version's pages, by the pages' URLs; without those whose damaged files were set aside.
  /// - Throws: `unknownVersion`.
  package func pictures(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [PagePicture]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      return try db.pictures(of: channel.id, at: version)
    }
  }
}

extension Database {
  fileprivate func insert(
    _ picture: PagePicture, of channel: Int64, at version: ManifestVersion, now: Int64,
    persisted blobs: BlobStore
  ) throws(StoreError) {
    let row = try BlobRow.find(picture.sha256, in: self)
    let blob: Int64
    if let row, !row.isQuarantined {
      blob = row.id
    } else {
      guard let digest = blobs.persisted(picture.sha256) else { throw .missingBlobs([picture.sha256]) }
      if let row {
        try BlobRow.markWhole(picture.sha256, at: now, in: self)
        blob = row.id
      } else {
        blob = try BlobRow.insert(digest, now: now, in: self)
      }
    }
    try run(
      """
      INSERT INTO page_picture (channel_id, version, page, blob_id, width, height, at) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET blob_id = excluded.blob_id, width = excluded.width, height = excluded.height,
        at = excluded.at
      """, channel, version.number, picture.page.text, blob, picture.width, picture.height, now)
  }

  fileprivate func pictures(of channel: Int64, at version: ManifestVersion) throws(StoreError)
    -> [PagePicture]
  {
    try all(
      """
      SELECT p.page, b.sha256, b.size, p.width, p.height, p.at FROM page_picture AS p
      JOIN blob AS b ON b.id = p.blob_id AND b.quarantined_at IS NULL
      WHERE p.channel_id = ? AND p.version = ? ORDER BY p.page
      """, channel, version.number
    ) { (row) throws(StoreError) in
      PagePicture(
        page: try Stored.url(row.get(0)), sha256: row.get(1), size: row.get(2), width: row.get(3),
        height: row.get(4), at: row.get(5))
    }
  }

  /// The ids of the blobs that pictures of these versions need.
  func pictureBlobs(of channel: Int64, versions: Set<Int64>) throws(StoreError) -> Set<Int64> {
    var blobs: Set<Int64> = []
    try each("SELECT version, blob_id FROM page_picture WHERE channel_id = ?", channel) { row in
      if versions.contains(row.get(0)) { blobs.insert(row.get(1)) }
    }
    return blobs
  }
}
