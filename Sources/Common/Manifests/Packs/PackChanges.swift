import System
import Values

/// The changes from one manifest to another, as a pack encodes them (docs/protocol.md, "Packs"). They leave out what
/// a device derives from the files itself (md5, sha256, size, the UUID and name in `download`).
package struct PackChanges: Hashable, Sendable {
  /// The entries of the base manifest that are removed or changed: their indices in its entries sorted by URL,
  /// ascending.
  package var touched: [Int]
  /// The entries that are added or changed, sorted by URL.
  package var arrivals: [Arrival]

  package init(touched: [Int], arrivals: [Arrival]) {
    self.touched = touched
    self.arrivals = arrivals
  }

  /// An entry that is added or changed.
  package struct Arrival: Hashable, Sendable {
    package let url: ResourceURL
    /// The touched entry that this one most likely replaces, as an index in `touched`: what they share isn't sent.
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

    /// Returns the entry, once its bytes are known; nil if their size is above what a manifest can express.
    package func entry(_ bytes: FileDigest) -> Entry? {
      guard bytes.size <= Decimal.limit else { return nil }
      let path =
        "\(manifestVersion)/\(version)/\(ResourceUUID(bytes.sha256))/\(ResourceFileName(url).escaped)"
      return Entry(
        ctype: form.ctype, download: "\(form.downloadBase)/\(path)", md5: bytes.md5, sha256: bytes.sha256,
        size: bytes.size, version: version, others: form.others)
    }
  }

  /// Where the bytes of an entry come from.
  package enum Source: Hashable, Sendable {
    /// The next record of the pack: a frame over the file of an entry of the base manifest, by index, or over
    /// nothing. With `isRenamed`, over that file with its words renamed (`PackRenaming`).
    case record(base: Int?, isRenamed: Bool)
    /// The file of an entry of the base manifest, by index.
    case held(Int)
    /// The file of an earlier arrival, by index.
    case arrival(Int)
    /// None: the entry is lazy, and the device may not hold its file. The pack says what the file is.
    case absent(FileDigest)
  }

  /// The arrivals whose bytes are in the pack, in the order of the records.
  package var records: [Int] {
    arrivals.indices.filter { if case .record = arrivals[$0].source { true } else { false } }
  }

  /// The arrivals whose files the pack doesn't lead to.
  package var absent: [Int] { arrivals.indices.filter { arrivals[$0].source.absentFile != nil } }

  /// The form of packs that the change list needs.
  package var format: PackFormat { absent.isEmpty ? .whole : .partial }
}

extension PackChanges.Source {
  /// The file of an arrival that the pack doesn't lead to; nil for any other arrival.
  package var absentFile: FileDigest? { if case .absent(let file) = self { file } else { nil } }
}

/// The forms of packs.
package enum PackFormat: UInt8, Sendable {
  /// "XPK1": the files of all arrivals come of it.
  case whole = 0x31
  /// "XPK2": it may leave out the files of lazy entries (D-178).
  case partial = 0x32
}

/// The parts of an entry that can't be derived from its URL, its bytes and its versions.
package struct EntryForm: Hashable, Sendable {
  package let ctype: String
  /// Members that packs don't interpret.
  package let others: JSONObject
  /// The start of `download`: the public URL, the space and the app's number, without a slash at its end.
  package let downloadBase: String

  package init(ctype: String, others: JSONObject, downloadBase: String) {
    self.ctype = ctype
    self.others = others
    self.downloadBase = downloadBase
  }

  /// Creates the form of an entry; nil if its `download` doesn't end as an origin writes it.
  package init?(_ entry: Entry) {
    guard let downloadBase = Self.cut(entry.download)?.downloadBase else { return nil }
    self.init(ctype: entry.ctype, others: entry.others, downloadBase: downloadBase)
  }

  /// Whether the entry is lazy.
  var isLazy: Bool { others[Entry.lazyKey]?.bool == true }

  // Hashes members by key and value: thousands of entries may differ only in one header.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(ctype)
    hasher.combine(downloadBase)
    for member in others.members {
      hasher.combine(member.key)
      hasher.combine(member.value)
    }
  }

  /// The approximate bytes that it adds to each of its entries in a resourcemap.
  var weight: Int64 {
    let others = others.isEmpty ? 0 : JSONValue.object(others).canonical.count
    return Int64(ctype.utf8.count + downloadBase.utf8.count + others)
  }

  /// The form as JSON: the entry's members, with `downloadBase` as its `download`.
  var json: JSONValue {
    var object = others
    object["ctype"] = .string(ctype)
    object["download"] = .string(downloadBase)
    return .object(object)
  }

  init(json: JSONValue) throws(PackFault) {
    guard let object = json.object, let ctype = object["ctype"]?.string,
      let downloadBase = object["download"]?.string,
      ctype.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { throw .damaged("an entry lacks a member") }
    guard !object.members.contains(where: { Self.computed.contains($0.key) }) else {
      throw .damaged("an entry has a member that devices work out")
    }
    self.ctype = ctype
    self.downloadBase = downloadBase
    others = JSONObject(sorted: object.members.filter { $0.key != "ctype" && $0.key != "download" })
    switch Entry.unfit(in: others) {
    case nil: break
    case EntryHeaders.key: throw .damaged("an entry's headers can't be sent")
    case let name?: throw .damaged("an entry's member \(name) can't be used")
    }
  }

  /// The members of an entry that are derived from its bytes and its arrival.
  private static let computed: Set<String> = ["md5", "sha256", "size", "version"]

  /// Returns the part of a `download` before its last four segments, and the first of these, the manifest version.
  static func cut(_ download: String) -> (downloadBase: String, manifestVersion: ManifestVersion)? {
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
