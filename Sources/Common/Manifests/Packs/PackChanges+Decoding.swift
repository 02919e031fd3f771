import System
import Values

extension PackChanges {
  /// The default limit of the arrivals' bytes in a resourcemap.
  package static let largest: Int64 = 256 << 20

  /// Decodes the change list of a pack whose head is known.
  /// - Parameters:
  ///   - bytes: the decoded frame that follows the head.
  ///   - head: the head of the pack.
  ///   - base: the base manifest.
  ///   - limit: the maximum bytes of the arrivals in a resourcemap.
  /// - Throws: `damaged`, also if the bytes don't match the digest in the head; `otherManifest`; `overLimit`.
  package init(_ bytes: [UInt8], of head: PackHead, base: Manifest, limit: Int64 = largest) throws(PackFault)
  {
    guard base.version == head.base else { throw .otherManifest }
    guard Int64(bytes.count) == head.changes.plain, PackHead.check(SHA256.of(bytes)) == head.changesCheck
    else { throw .damaged("its change list is another") }
    try self.init(bytes, head.format, version: head.version, base: base.items, limit: limit)
    guard records.count == head.records else { throw .damaged("it has more or fewer files than entries") }
  }

  /// Decodes a change list, and checks that every index in it exists.
  /// - Parameters:
  ///   - bytes: the change list.
  ///   - format: the form of its pack.
  ///   - version: the version that the pack leads to.
  ///   - base: the base manifest, sorted by URL.
  ///   - limit: the maximum bytes of the arrivals in a resourcemap: a few bytes here can stand for many there.
  package init(
    _ bytes: [UInt8], _ format: PackFormat = .whole, version: ManifestVersion, base: [ManifestItem],
    limit: Int64 = largest
  ) throws(PackFault) {
    var reader = VarintReader(bytes)
    var room = Room(left: limit)
    let touched = try Self.touched(of: base.count, &reader)
    let count = try reader.count()
    try room.take(Int64(count) * Room.entry)
    let partners = try Self.partners(count, of: touched.count, &reader)
    let urls = try Self.urls(partners.map { $0.map { base[touched[$0]].url.text } }, &reader, &room)
    let sources = try Self.sources(partners.map { $0.map { touched[$0] } }, base.count, format, &reader)
    var versions: [Int64] = []
    for _ in 0..<count { versions.append(try reader.number()) }
    var since: [Int64] = []
    for _ in 0..<count { since.append(try reader.number()) }
    let forms = try Self.forms(partners.map { $0.map { base[touched[$0]].entry } }, &reader, &room)
    guard reader.left == 0 else { throw .damaged("its change list goes on behind its end") }
    var arrivals: [Arrival] = []
    arrivals.reserveCapacity(count)
    for index in 0..<count {
      let manifestVersion = (version.number - since[index]) & Varint.largest
      guard let url = try? ResourceURL(urls[index]), UTF8Order.areEqual(url.text, urls[index]),
        versions[index] > 0, manifestVersion > 0
      else { throw .damaged("an entry that can't be one") }
      guard forms[index].isLazy || sources[index].absentFile == nil else {
        throw .damaged("an entry without bytes that isn't lazy")
      }
      if let last = arrivals.last, last.url >= url { throw .damaged("its entries aren't sorted") }
      arrivals.append(
        Arrival(
          url: url, partner: partners[index], form: forms[index], version: versions[index],
          manifestVersion: ManifestVersion(manifestVersion), source: sources[index]))
    }
    self.init(touched: touched, arrivals: arrivals)
  }

  private static func touched(of count: Int, _ reader: inout VarintReader) throws(PackFault) -> [Int] {
    var touched: [Int] = []
    for _ in 0..<(try reader.count()) {
      let next = (touched.last ?? -1) + 1 + (try reader.number(below: count))
      guard next < count else { throw .damaged("an entry that isn't in the base") }
      touched.append(next)
    }
    return touched
  }

  private static func partners(_ count: Int, of touched: Int, _ reader: inout VarintReader) throws(PackFault)
    -> [Int?]
  {
    var partners: [Int?] = []
    var expected = 0
    for _ in 0..<count {
      let value = try reader.number(below: 2 * touched + 2)
      if value == 0 {
        partners.append(nil)
        continue
      }
      let step = (value - 1) % 2 == 0 ? (value - 1) / 2 : -(value / 2)
      let partner = expected + step
      guard (0..<touched).contains(partner) else { throw .damaged("a partner that isn't there") }
      partners.append(partner)
      expected = partner + 1
    }
    return partners
  }

  private static func urls(_ partners: [String?], _ reader: inout VarintReader, _ room: inout Room)
    throws(PackFault) -> [String]
  {
    var columns: [[Int]] = []
    for _ in 0..<3 {
      var column: [Int] = []
      for _ in partners { column.append(try reader.number(below: ResourceURL.limit + 1)) }
      columns.append(column)
    }
    var urls: [String] = []
    for (index, partner) in partners.enumerated() {
      let like = Array((partner ?? urls.last ?? "").utf8)
      let (start, end) = (columns[0][index], columns[1][index])
      guard start + end <= like.count else { throw .damaged("a URL that shares more than there is") }
      let middle = try reader.bytes(columns[2][index])
      try room.take(Int64(start + middle.count + end))
      guard let url = String(validating: like.prefix(start) + middle + like.suffix(end), as: UTF8.self) else {
        throw .damaged("a URL isn't UTF-8")
      }
      urls.append(url)
    }
    return urls
  }

  private static func sources(
    _ partners: [Int?], _ base: Int, _ format: PackFormat, _ reader: inout VarintReader
  ) throws(PackFault) -> [Source] {
    let codes = try reader.bytes(partners.count)
    var sources: [Source?] = []
    for (index, code) in codes.enumerated() {
      switch (code, partners[index]) {
      case (Code.partner, let partner?): sources.append(.record(base: partner, isRenamed: false))
      case (Code.partnerRenamed, let partner?): sources.append(.record(base: partner, isRenamed: true))
      case (Code.partnerHeld, let partner?): sources.append(.held(partner))
      case (Code.nothing, _): sources.append(.record(base: nil, isRenamed: false))
      case (Code.other, _), (Code.otherRenamed, _):
        sources.append(.record(base: try reader.number(below: base), isRenamed: code == Code.otherRenamed))
      case (Code.held, _): sources.append(.held(try reader.number(below: base)))
      case (Code.arrival, _):
        let other = try reader.number(below: index)
        guard codes[other] != Code.absent else { throw .damaged("the bytes of an entry without any") }
        sources.append(.arrival(other))
      case (Code.absent, _) where format == .partial: sources.append(nil)
      default: throw .damaged("an entry whose bytes come from nowhere")
      }
    }
    // What these files are comes after all the numbers.
    var all: [Source] = []
    for source in sources {
      if let source { all.append(source) } else { all.append(.absent(try Self.file(&reader))) }
    }
    return all
  }

  private static func file(_ reader: inout VarintReader) throws(PackFault) -> FileDigest {
    let digests = (try reader.bytes(MD5.byteCount), try reader.bytes(SHA256.byteCount))
    let size = try reader.number()
    guard let md5 = MD5(bytes: digests.0.span.bytes), let sha256 = SHA256(bytes: digests.1.span.bytes) else {
      throw .damaged("an entry's digest isn't one")
    }
    return FileDigest(md5: md5, sha256: sha256, size: size)
  }

  private static func forms(_ partners: [Entry?], _ reader: inout VarintReader, _ room: inout Room)
    throws(PackFault) -> [EntryForm]
  {
    var formNumbers: [Int] = []
    for _ in partners { formNumbers.append(Int(clamping: try reader.number())) }
    var table: [(form: EntryForm, weight: Int64)] = []
    var values = DocumentBudget.values
    for _ in 0..<(try reader.count()) {
      let length = try reader.count()
      let bytes = try reader.bytes(length)
      guard let json = try? JSONValue.parse(bytes, atMost: DocumentBudget.entryValues, of: &values) else {
        throw .damaged("a form isn't JSON")
      }
      let form = try EntryForm(json: json)
      table.append((form, form.weight))
    }
    var forms: [EntryForm] = []
    for (partner, form) in zip(partners, formNumbers) {
      if form == 0 {
        guard let form = partner.flatMap({ EntryForm($0) }) else { throw .damaged("a form that isn't there") }
        try room.take(form.weight)
        forms.append(form)
      } else {
        guard form <= table.count else { throw .damaged("a form that isn't there") }
        try room.take(table[form - 1].weight)
        forms.append(table[form - 1].form)
      }
    }
    return forms
  }

  /// The bytes that arrivals may still take in a resourcemap.
  private struct Room {
    /// The bytes of an entry besides its URL and its form: keys, digests and the end of `download`.
    static let entry: Int64 = 256

    var left: Int64

    mutating func take(_ count: Int64) throws(PackFault) {
      guard count <= left else { throw .overLimit }
      left -= count
    }
  }
}
