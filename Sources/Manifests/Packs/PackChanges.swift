import System

/// What turns one manifest into another, as a pack tells it (docs/protocol.md, "Packs"). What a device works out from
/// the files itself (md5, sha256, size, the UUID and name of `download`) isn't in it.
package struct PackChanges: Hashable, Sendable {
  /// The entries of the base manifest that go or change: their places in the order of its URLs, rising.
  package var touched: [Int]
  /// The entries that come or change, in the order of their URLs.
  package var arrivals: [Arrival]

  package init(touched: [Int], arrivals: [Arrival]) {
    self.touched = touched
    self.arrivals = arrivals
  }

  /// An entry that comes or changes.
  package struct Arrival: Hashable, Sendable {
    package let url: ResourceURL
    /// The touched entry, by its place in `touched`, that this one most likely replaces: what they share isn't sent.
    package var partner: Int?
    package let form: EntryForm
    /// The resource version.
    package let version: Int64
    /// The manifest version in `download`.
    package let manifestVersion: ManifestVersion
    package var source: Source

    package init(
      url: ResourceURL, partner: Int?, form: EntryForm, version: Int64, manifestVersion: ManifestVersion,
      source: Source
    ) {
      self.url = url
      self.partner = partner
      self.form = form
      self.version = version
      self.manifestVersion = manifestVersion
      self.source = source
    }

    /// The entry, once its bytes are known; nil where they are more than a manifest can say.
    package func entry(_ bytes: FileDigest) -> Entry? {
      guard bytes.size <= Decimal.limit else { return nil }
      let path =
        "\(manifestVersion)/\(version)/\(ResourceUUID(bytes.sha256))/\(ResourceFileName(url).escaped)"
      return Entry(
        ctype: form.ctype, download: "\(form.place)/\(path)", md5: bytes.md5, sha256: bytes.sha256,
        size: bytes.size, version: version, others: form.others)
    }
  }

  /// Where the bytes of an entry come from.
  package enum Source: Hashable, Sendable {
    /// The next record of the pack: a frame over the file of an entry of the base manifest, by its place, or over
    /// nothing. `isRenamed`: over that file with its words renamed (`PackRenaming`).
    case record(base: Int?, isRenamed: Bool)
    /// The file of an entry of the base manifest, by its place.
    case held(Int)
    /// The file of an arrival before this one, by its place.
    case arrival(Int)
  }

  /// Arrivals whose bytes are in the pack, in the order of the records.
  package var records: [Int] {
    arrivals.indices.filter { if case .record = arrivals[$0].source { true } else { false } }
  }
}

/// What an entry says that doesn't follow from its URL, its bytes and its versions.
package struct EntryForm: Hashable, Sendable {
  package let ctype: String
  /// Members that packs know nothing of.
  package let others: JSONObject
  /// What `download` begins with: the public URL, the space and the app's number, without a slash at its end.
  package let place: String

  package init(ctype: String, others: JSONObject, place: String) {
    self.ctype = ctype
    self.others = others
    self.place = place
  }

  /// Of an entry; nil where its `download` doesn't end as an origin writes it.
  package init?(_ entry: Entry) {
    guard let place = Self.cut(entry.download)?.place else { return nil }
    self.init(ctype: entry.ctype, others: entry.others, place: place)
  }

  // Members count by key and value: thousands of entries may differ in one header alone.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(ctype)
    hasher.combine(place)
    for member in others.members {
      hasher.combine(member.key)
      hasher.combine(member.value)
    }
  }

  /// Bytes of what it gives to each of its entries in a resourcemap, roughly.
  var weight: Int64 {
    let others = others.isEmpty ? 0 : JSONValue.object(others).canonical.count
    return Int64(ctype.utf8.count + place.utf8.count + others)
  }

  /// As JSON: the entry's members, with `place` as its `download`.
  var json: JSONValue {
    var object = others
    object["ctype"] = .string(ctype)
    object["download"] = .string(place)
    return .object(object)
  }

  init(json: JSONValue) throws(PackFault) {
    guard let object = json.object, let ctype = object["ctype"]?.string,
      let place = object["download"]?.string,
      ctype.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { throw .damaged("an entry lacks a member") }
    guard !object.members.contains(where: { Self.computed.contains($0.key) }) else {
      throw .damaged("an entry has a member that devices work out")
    }
    self.ctype = ctype
    self.place = place
    others = JSONObject(sorted: object.members.filter { $0.key != "ctype" && $0.key != "download" })
    guard EntryHeaders.areFit(in: others) else { throw .damaged("an entry's headers can't be sent") }
  }

  /// Members of an entry that follow from its bytes and its arrival.
  private static let computed: Set<String> = ["md5", "sha256", "size", "version"]

  /// What stands before the last four segments of a `download`, and the first of these, the manifest version.
  static func cut(_ download: String) -> (place: String, manifestVersion: ManifestVersion)? {
    var rest = download[...]
    var segment = rest
    for _ in 0..<4 {
      guard let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
      segment = rest[rest.utf8.index(after: slash)...]
      rest = rest[..<slash]
    }
    return ManifestVersion(text: segment).map { (String(rest), $0) }
  }
}
