import Manifests
import System
import Values

/// The files that an update left out because of the conditions, such as a metered network: each is fetched when a page
/// requests it, or all once conditions allow.
///
/// Keyed by digest: bytes that two URLs share are fetched once.
struct Backlog: Equatable, Sendable {
  /// A delta that a file can be made from.
  struct Delta: Hashable, Sendable {
    let base: SHA256
    let download: String
    /// The size in bytes.
    let size: Int64
  }

  private(set) var files: [SHA256: Delta?] = [:]

  init() {}

  /// Creates a backlog of skipped files, with the deltas that the answer offered for them.
  init(_ skipped: [HeldEntry], _ offers: [DeltaOffer]) {
    let deltas = Dictionary(
      offers.map { ($0.url, Delta(base: $0.base, download: $0.download, size: $0.size)) }
    ) { $1 }
    for entry in skipped { files.updateValue(deltas[entry.url], forKey: entry.sha256) }
  }

  var isEmpty: Bool { files.isEmpty }

  func contains(_ entry: HeldEntry) -> Bool { files[entry.sha256] != nil }

  /// The bases of the deltas.
  var bases: Set<SHA256> { Set(files.values.compactMap { $0?.base }) }

  /// Returns the delta for an entry, as an answer would offer it.
  func offer(for entry: HeldEntry) -> DeltaOffer? {
    guard let delta = files[entry.sha256] ?? nil else { return nil }
    return DeltaOffer(url: entry.url, base: delta.base, download: delta.download, size: delta.size)
  }

  /// Removes a file that has arrived, or won't be fetched.
  mutating func remove(_ sha256: SHA256) { files.removeValue(forKey: sha256) }

  /// Adds what a later update skipped.
  mutating func add(_ later: Backlog) { files.merge(later.files) { $1 } }

  /// Removes files that are no longer wanted.
  mutating func keep(_ isWanted: (SHA256) -> Bool) { files = files.filter { isWanted($0.key) } }
}

extension Backlog {
  /// The maximum size of `backlog.json`, in bytes.
  static let limit = 64 << 20

  /// The contents of `backlog.json`.
  var saved: [UInt8] {
    var members = JSONObject()
    for (sha256, delta) in files.sorted(by: { $0.key < $1.key }) {
      guard let delta else {
        members[sha256.hex] = .null
        continue
      }
      members[sha256.hex] = [
        "base": .string(delta.base.hex), "download": .string(delta.download), "size": .integer(delta.size),
      ]
    }
    let document: JSONValue = ["files": .object(members)]
    return document.canonical
  }

  /// Reads what was saved; empty if that can't be read.
  init(saved bytes: [UInt8]?) {
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }), let members = document["files"]?.object
    else { return }
    for member in members.members {
      guard let sha256 = SHA256(hex: member.key) else { continue }
      files.updateValue(Delta(json: member.value), forKey: sha256)
    }
  }
}

extension Backlog.Delta {
  fileprivate init?(json: JSONValue) {
    guard let base = json["base"]?.string.flatMap({ SHA256(hex: $0) }), let size = json["size"]?.integer,
      let download = json["download"]?.string, size >= 0
    else { return nil }
    self.init(base: base, download: download, size: size)
  }
}
