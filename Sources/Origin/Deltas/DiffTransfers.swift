import Manifests
import Platform
import Store

/// What each file of a diff costs a device at its older version.
struct DiffTransfers: Sendable {
  let cost: UpdateCost
  private let sizes: [SHA256: (plain: Int64, delta: Int64?)]

  init(_ changes: [ContentChange], _ channel: ChannelInfo, from base: ManifestVersion, _ facts: DerivedFacts)
    throws(StoreError)
  {
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    let targets = Set(new.map(\.content.sha256))
    let pairs = try facts.store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    let bases = Set(pairs.values.joined().map(\.base)).union(targets)
    let held = try facts.store.held(bases, channel, at: base)
    var sizes: [SHA256: (plain: Int64, delta: Int64?)] = [:]
    for (_, content) in new where sizes[content.sha256] == nil {
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      // What a device has under another URL it copies.
      sizes[content.sha256] = held.contains(content.sha256) ? (0, nil) : (plain, delta)
    }
    self.sizes = sizes
    cost = UpdateCost(new, holding: held, pairs: pairs, facts)
  }

  /// `plain`: bytes of the best plain body; `delta`: bytes of the delta, where there is one.
  func members(of content: ResourceContent) -> [JSONObject.Member] {
    guard let size = sizes[content.sha256] else { return [] }
    return [.init(key: "plain", value: .integer(size.plain))]
      + (size.delta.map { [.init(key: "delta", value: .integer($0))] } ?? [])
  }
}

extension Backlog.Progress {
  /// `pending`: older versions from which deltas are still to be made; null: being worked out.
  var json: JSONValue {
    [
      "files": .integer(Int64(files)), "filesDone": .integer(Int64(filesDone)),
      "pending": pending.map { .integer(Int64($0)) } ?? .null, "version": .string(version.text),
    ]
  }
}
