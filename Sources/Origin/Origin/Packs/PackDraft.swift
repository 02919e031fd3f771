import Compression
import Manifests
import Store
import System
import Values

/// The files of a pack, coded before the release that it leads to has its number: they depend only on URLs and bytes.
struct PackDraft: Sendable {
  /// A coded file.
  struct Record: Sendable {
    let sha256: SHA256
    /// What the frame is coded against; nil if nothing.
    let base: SHA256?
    let isRenamed: Bool
    /// Its position in `frames`.
    let frame: Range<Int64>
  }

  /// A new entry, and the URL that it most likely replaces.
  struct Link: Hashable, Sendable {
    let url: ResourceURL
    let partner: ResourceURL?
  }

  let links: [Link]
  let records: [Record]
  let frames: ScratchFile
  /// The bytes of these files' best plain bodies.
  let plainBytes: Int64
  /// The bases of files' deltas, and the URLs of the base manifest that hold the bytes involved: for making the plan for
  /// the same changes again.
  let deltaBases: [SHA256: SHA256]
  let holders: [SHA256: ResourceURL]
  /// Whether the base manifest had lazy entries.
  let isOnLazy: Bool

  /// The bytes that the records take in a pack.
  var recordBytes: Int64 {
    records.reduce(0) {
      $0 + Int64($1.frame.count + PackRecordHead(length: $1.frame.count, sha256: $1.sha256).bytes.count)
    }
  }

  /// Returns the plan for these changes, if the files were coded for them.
  func plan(_ changes: [EntryDifference], on base: PackBase) -> PackPlan? {
    guard var plan = PackPlan(changes, on: base, deltaBases: deltaBases), Self.links(of: plan) == links else {
      return nil
    }
    let digests = changes.compactMap { $0.new?.sha256 }
    var rest = records[...]
    for index in plan.changes.records {
      guard let record = rest.popFirst(), record.sha256 == digests[index] else { return nil }
      guard let over = record.base else {
        plan.changes.arrivals[index].source = .record(base: nil, isRenamed: false)
        continue
      }
      let partner = plan.changes.arrivals[index].partner
      let ofPartner = partner.flatMap {
        plan.old[$0].isHeld(over) ? plan.changes.touched[$0] : nil
      }
      guard let baseIndex = ofPartner ?? base.holder(over) else { return nil }
      plan.changes.arrivals[index].source = .record(base: baseIndex, isRenamed: record.isRenamed)
    }
    return rest.isEmpty ? plan : nil
  }

  /// Returns the new entries, in order, each with its partner.
  static func links(of plan: PackPlan) -> [Link] {
    plan.changes.arrivals.map { arrival in
      Link(url: arrival.url, partner: arrival.partner.map { plan.old[$0].url })
    }
  }
}

extension PackDraft {
  /// Returns what a planned release changes in an older manifest. `entries` are as the release will write them; for others,
  /// the numbers are made up.
  static func changes(
    _ new: DeltaSearch.Contents, gone: [ResourceURL], on older: ContentTable, in channel: ChannelInfo,
    entries: [ResourceURL: Entry] = [:]
  ) -> [EntryDifference] {
    func change(_ url: ResourceURL, _ new: ResourceContent?) -> EntryDifference {
      let old = older.index(of: url).map { older[$0].content }
      return EntryDifference(
        url: url, old: old.map { entry(url, $0, in: channel) },
        new: new.map { entries[url] ?? entry(url, $0, in: channel) })
    }
    let changes = new.map { change($0.url, $0.content) } + gone.map { change($0, nil) }
    return changes.sorted { $0.url < $1.url }
  }

  /// Returns an entry as a release will make it, except for its numbers.
  static func entry(_ url: ResourceURL, _ content: ResourceContent, in channel: ChannelInfo) -> Entry {
    let path = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: ManifestVersion(1), resourceVersion: 1,
      sha256: content.sha256, url: url)
    return Entry(content, download: path.url(publicURL: channel.publicURL), version: 1)
  }
}
