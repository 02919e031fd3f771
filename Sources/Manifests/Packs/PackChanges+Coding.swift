import System

// A change list is a run of columns, so that what is alike stands together and compresses well (docs/protocol.md,
// "Packs"). Every number is a varint.
//
//   touched    how many, then the gap before each: entries between it and the one before
//   arrivals   how many, then for all of them, column by column:
//     partner    0: none; else 1 + zigzag(place in `touched` − expected), where the place behind the last is expected
//     shared     bytes that its URL has in common with its partner's (without: with the URL of the arrival before it)
//                at the start; then, as a column of its own, at the end
//     middle     how many bytes are between these; then, as one run, the bytes
//     source     one byte each: 0 record over the partner's file, 1 the same renamed, 2 record over another file,
//                3 the same renamed, 4 record over nothing, 5 held under another entry, 6 of an earlier arrival,
//                7 the partner's file as it is
//     other      for 2, 3 and 5 a place in the base manifest, for 6 a place in the arrivals
//     version    resource version
//     since      how many manifest versions before the pack's its `download` has
//     form       0: as the partner's; else 1 + a place in the forms
//   forms      how many, then each: bytes, and the JSON
extension PackChanges {
  private enum Code {
    static let partner: UInt8 = 0
    static let partnerRenamed: UInt8 = 1
    static let other: UInt8 = 2
    static let otherRenamed: UInt8 = 3
    static let nothing: UInt8 = 4
    static let held: UInt8 = 5
    static let arrival: UInt8 = 6
    static let partnerHeld: UInt8 = 7
  }

  /// As it is sent, before it is compressed.
  /// - Parameters:
  ///   - version: that the pack leads to.
  ///   - old: the touched entries of the base manifest, in their order.
  package func bytes(version: ManifestVersion, old: [ManifestItem]) -> [UInt8] {
    var out: [UInt8] = []
    Varint.append(touched.count, to: &out)
    for (index, place) in touched.enumerated() {
      Varint.append(index == 0 ? place : place - touched[index - 1] - 1, to: &out)
    }
    Varint.append(arrivals.count, to: &out)
    appendPartners(to: &out)
    appendURLs(old, to: &out)
    appendSources(to: &out)
    for arrival in arrivals { Varint.append(arrival.version, to: &out) }
    for arrival in arrivals { Varint.append(version.number - arrival.manifestVersion.number, to: &out) }
    appendForms(old, to: &out)
    return out
  }

  private func appendPartners(to out: inout [UInt8]) {
    var expected = 0
    for arrival in arrivals {
      guard let partner = arrival.partner else {
        Varint.append(0, to: &out)
        continue
      }
      let step = partner - expected
      Varint.append(1 + (step >= 0 ? 2 * step : -2 * step - 1), to: &out)
      expected = partner + 1
    }
  }

  private func appendURLs(_ old: [ManifestItem], to out: inout [UInt8]) {
    var cuts: [(start: Int, end: Int, middle: ArraySlice<UInt8>)] = []
    var last: [UInt8] = []
    for arrival in arrivals {
      let url = Array(arrival.url.text.utf8)
      let like = arrival.partner.map { Array(old[$0].url.text.utf8) } ?? last
      let shortest = min(url.count, like.count)
      let start = zip(url, like).prefix { $0 == $1 }.count
      let end = min(zip(url.reversed(), like.reversed()).prefix { $0 == $1 }.count, shortest - start)
      cuts.append((start, end, url[start..<url.count - end]))
      last = url
    }
    for cut in cuts { Varint.append(cut.start, to: &out) }
    for cut in cuts { Varint.append(cut.end, to: &out) }
    for cut in cuts { Varint.append(cut.middle.count, to: &out) }
    for cut in cuts { out += cut.middle }
  }

  private func appendSources(to out: inout [UInt8]) {
    var others: [Int] = []
    for arrival in arrivals {
      let partner = arrival.partner.map { touched[$0] }
      switch arrival.source {
      case .record(nil, _): out.append(Code.nothing)
      case .record(let base?, let isRenamed) where base == partner:
        out.append(isRenamed ? Code.partnerRenamed : Code.partner)
      case .record(let base?, let isRenamed):
        out.append(isRenamed ? Code.otherRenamed : Code.other)
        others.append(base)
      case .held(let place) where place == partner: out.append(Code.partnerHeld)
      case .held(let place):
        out.append(Code.held)
        others.append(place)
      case .arrival(let place):
        out.append(Code.arrival)
        others.append(place)
      }
    }
    for other in others { Varint.append(other, to: &out) }
  }

  private func appendForms(_ old: [ManifestItem], to out: inout [UInt8]) {
    var forms: [EntryForm] = []
    var places: [EntryForm: Int] = [:]
    for arrival in arrivals {
      if let partner = arrival.partner, EntryForm(old[partner].entry) == arrival.form {
        Varint.append(0, to: &out)
        continue
      }
      let place = places[arrival.form] ?? forms.count
      if place == forms.count {
        forms.append(arrival.form)
        places[arrival.form] = place
      }
      Varint.append(1 + place, to: &out)
    }
    Varint.append(forms.count, to: &out)
    for form in forms {
      let json = form.json.canonical
      Varint.append(json.count, to: &out)
      out += json
    }
  }
}

extension PackChanges {
  /// Reads a change list; every place in it is one.
  /// - Parameters:
  ///   - version: that the pack leads to.
  ///   - base: the base manifest, sorted by URL.
  package init(_ bytes: [UInt8], version: ManifestVersion, base: [ManifestItem]) throws(PackFault) {
    var reader = VarintReader(bytes)
    let touched = try Self.touched(of: base.count, &reader)
    let count = try reader.count()
    let partners = try Self.partners(count, of: touched.count, &reader)
    let urls = try Self.urls(partners.map { $0.map { base[touched[$0]].url.text } }, &reader)
    let sources = try Self.sources(partners.map { $0.map { touched[$0] } }, base.count, &reader)
    var versions: [Int64] = []
    for _ in 0..<count { versions.append(try reader.number()) }
    var since: [Int64] = []
    for _ in 0..<count { since.append(try reader.number()) }
    let forms = try Self.forms(partners.map { $0.map { base[touched[$0]].entry } }, &reader)
    guard reader.left == 0 else { throw .damaged("its change list goes on behind its end") }
    var arrivals: [Arrival] = []
    arrivals.reserveCapacity(count)
    for index in 0..<count {
      guard let url = try? ResourceURL(urls[index]), UTF8Order.areEqual(url.text, urls[index]),
        versions[index] > 0, since[index] < version.number
      else { throw .damaged("an entry that can't be one") }
      if let last = arrivals.last, last.url >= url { throw .damaged("its entries aren't sorted") }
      arrivals.append(
        Arrival(
          url: url, partner: partners[index], form: forms[index], version: versions[index],
          manifestVersion: ManifestVersion(version.number - since[index]), source: sources[index]))
    }
    self.init(touched: touched, arrivals: arrivals)
  }

  private static func touched(of count: Int, _ reader: inout VarintReader) throws(PackFault) -> [Int] {
    var touched: [Int] = []
    for _ in 0..<(try reader.count()) {
      let place = (touched.last ?? -1) + 1 + (try reader.number(below: count))
      guard place < count else { throw .damaged("an entry that isn't in the base") }
      touched.append(place)
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

  private static func urls(_ partners: [String?], _ reader: inout VarintReader) throws(PackFault) -> [String]
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
      guard let url = String(validating: like.prefix(start) + middle + like.suffix(end), as: UTF8.self) else {
        throw .damaged("a URL isn't UTF-8")
      }
      urls.append(url)
    }
    return urls
  }

  private static func sources(_ partners: [Int?], _ base: Int, _ reader: inout VarintReader) throws(PackFault)
    -> [Source]
  {
    let codes = try reader.bytes(partners.count)
    var sources: [Source] = []
    for (index, code) in codes.enumerated() {
      switch (code, partners[index]) {
      case (Code.partner, let partner?): sources.append(.record(base: partner, isRenamed: false))
      case (Code.partnerRenamed, let partner?): sources.append(.record(base: partner, isRenamed: true))
      case (Code.partnerHeld, let partner?): sources.append(.held(partner))
      case (Code.nothing, _): sources.append(.record(base: nil, isRenamed: false))
      case (Code.other, _), (Code.otherRenamed, _):
        sources.append(.record(base: try reader.number(below: base), isRenamed: code == Code.otherRenamed))
      case (Code.held, _): sources.append(.held(try reader.number(below: base)))
      case (Code.arrival, _): sources.append(.arrival(try reader.number(below: index)))
      default: throw .damaged("an entry whose bytes come from nowhere")
      }
    }
    return sources
  }

  private static func forms(_ partners: [Entry?], _ reader: inout VarintReader) throws(PackFault)
    -> [EntryForm]
  {
    var places: [Int] = []
    for _ in partners { places.append(Int(clamping: try reader.number())) }
    var table: [EntryForm] = []
    for _ in 0..<(try reader.count()) {
      let length = try reader.count()
      guard let json = try? JSONValue.parse(try reader.bytes(length)) else {
        throw .damaged("a form isn't JSON")
      }
      table.append(try EntryForm(json: json))
    }
    var forms: [EntryForm] = []
    for (partner, place) in zip(partners, places) {
      if place == 0 {
        guard let form = partner.flatMap({ EntryForm($0) }) else { throw .damaged("a form that isn't there") }
        forms.append(form)
      } else {
        guard place <= table.count else { throw .damaged("a form that isn't there") }
        forms.append(table[place - 1])
      }
    }
    return forms
  }
}

extension PackChanges {
  /// How words of old files are renamed, where `isRenamed` says so.
  /// - Parameter old: the touched entries of the base manifest, in their order.
  package func renaming(old: [ManifestItem]) -> PackRenaming {
    PackRenaming(
      arrivals.lazy.compactMap { arrival in
        arrival.partner.map { (old: old[$0].url.text, new: arrival.url.text) }
      })
  }

  /// The manifest that a pack leads to, unchecked: compare its digest.
  /// - Parameter digests: of each arrival's bytes.
  package func applied(to base: Manifest, version: ManifestVersion, digests: [FileDigest]) throws(PackFault)
    -> Manifest
  {
    var items: [ManifestItem] = []
    items.reserveCapacity(base.items.count - touched.count + arrivals.count)
    var gone = touched[...]
    var next = zip(arrivals, digests).makeIterator()
    var arrival = next.next()
    func take(_ found: (Arrival, FileDigest)) throws(PackFault) {
      guard let entry = found.0.entry(found.1) else { throw .damaged("an entry that can't be one") }
      items.append(ManifestItem(url: found.0.url, entry: entry))
    }
    for (place, item) in base.items.enumerated() {
      while let found = arrival, found.0.url < item.url {
        try take(found)
        arrival = next.next()
      }
      if gone.first == place {
        gone.removeFirst()
        continue
      }
      if let found = arrival, found.0.url == item.url { throw .damaged("an entry that is there already") }
      items.append(item)
    }
    while let found = arrival {
      try take(found)
      arrival = next.next()
    }
    return Manifest(version: version, sorted: items)
  }
}
