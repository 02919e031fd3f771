import Manifests
import Platform
import Store

/// What devices download for an update: of each new file its smallest delta on what they hold, else its plain body.
struct UpdateCost: Sendable {
  /// Files that come over the wire, each once.
  var files = 0
  /// Of these, as deltas.
  var deltas = 0
  /// Bytes as they are sent, and what they would be without deltas.
  var bytes: Int64 = 0
  var plainBytes: Int64 = 0

  typealias Contents = [(url: ResourceURL, content: ResourceContent)]

  /// The cost of getting `new` for a device that holds `held`.
  init(_ new: Contents, holding held: Set<SHA256>, _ facts: DerivedFacts) throws(StoreError) {
    let targets = Set(new.map(\.content.sha256)).subtracting(held)
    self.init(new, holding: held, pairs: try facts.store.derived.pairs(of: Array(targets)), facts)
  }

  /// - Parameter pairs: the deltas that are known of each of the new files.
  init(
    _ new: Contents, holding held: Set<SHA256>, pairs: [SHA256: [StoredDelta]], _ facts: DerivedFacts
  ) {
    var seen = held
    for (_, content) in new where seen.insert(content.sha256).inserted {
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      files += 1
      plainBytes = plainBytes.addingClamped(plain)
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      if delta != nil { deltas += 1 }
      bytes = bytes.addingClamped(min(plain, delta ?? plain))
    }
  }

  /// What a device without anything downloads for `contents`.
  ///
  /// Beyond `exact` bytes, sizes that were never worked out are taken in proportion.
  init(whole contents: Contents, _ facts: DerivedFacts, exact: Int64 = 64 << 20) {
    var seen: Set<SHA256> = []
    var (known, coded, rest): (Int64, Int64, Int64) = (0, 0, 0)
    for (_, content) in contents where seen.insert(content.sha256).inserted {
      files += 1
      guard content.ctype.isCompressible else {
        plainBytes = plainBytes.addingClamped(content.size)
        continue
      }
      if known < exact {
        known = known.addingClamped(content.size)
        coded = coded.addingClamped(
          facts.plainSize(content.sha256, content.ctype, size: content.size))
      } else {
        rest = rest.addingClamped(content.size)
      }
    }
    let inProportion = known > 0 ? Double(rest) * Double(coded) / Double(known) : 0
    plainBytes = plainBytes.addingClamped(coded).addingClamped(Int64(min(inProportion, 0x1p62)))
    bytes = plainBytes
  }

  var json: JSONValue {
    [
      "bytes": .integer(bytes), "deltas": .integer(Int64(deltas)), "files": .integer(Int64(files)),
      "plainBytes": .integer(plainBytes),
    ]
  }
}
