import Compression
import Manifests
import Store
import System

/// The files of a pack, which are coded before the release that it leads to has its number: what they are follows from
/// URLs and bytes alone.
struct PackDraft: Sendable {
  /// A file, coded.
  struct Record: Sendable {
    let sha256: SHA256
    /// What the frame is over; nil: nothing.
    let base: SHA256?
    let isRenamed: Bool
    /// Where it is in `frames`.
    let frame: Range<Int64>
  }

  /// An entry that comes, and the URL that it most likely replaces.
  struct Link: Hashable, Sendable {
    let url: ResourceURL
    let partner: ResourceURL?
  }

  let links: [Link]
  let records: [Record]
  let frames: ScratchFile
  /// Bytes of these files' best plain bodies.
  let plainBytes: Int64
  /// What files have deltas on, and which URLs of the base manifest hold bytes that matter: of a plan for the same
  /// changes once more.
  let deltaBases: [SHA256: SHA256]
  let holders: [SHA256: ResourceURL]

  /// Bytes that the records take in a pack.
  var recordBytes: Int64 {
    records.reduce(0) {
      $0 + Int64($1.frame.count + PackRecordHead(length: $1.frame.count, sha256: $1.sha256).bytes.count)
    }
  }

  /// What the pack says of these changes, if they are those that the files were coded for.
  func plan(_ changes: [Manifests.EntryChange], on base: PackBase) -> PackPlan? {
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
        plan.old[$0].entry.sha256 == over ? plan.changes.touched[$0] : nil
      }
      guard let place = ofPartner ?? base.holder(over) else { return nil }
      plan.changes.arrivals[index].source = .record(base: place, isRenamed: record.isRenamed)
    }
    return rest.isEmpty ? plan : nil
  }

  /// The entries that come, in their order, each with its partner.
  static func links(of plan: PackPlan) -> [Link] {
    plan.changes.arrivals.map { arrival in
      Link(url: arrival.url, partner: arrival.partner.map { plan.old[$0].url })
    }
  }
}

extension PackDraft {
  /// What a planned release changes in an older manifest.
  /// - Parameter entries: as the release is going to write them; of those that aren't among them, the numbers are made up.
  static func changes(
    _ new: DeltaSearch.Contents, gone: [ResourceURL], on older: ContentTable, in channel: ChannelInfo,
    entries: [ResourceURL: Entry] = [:]
  ) -> [Manifests.EntryChange] {
    func change(_ url: ResourceURL, _ new: ResourceContent?) -> Manifests.EntryChange {
      let old = older.place(of: url).map { older[$0].content }
      return Manifests.EntryChange(
        url: url, old: old.map { entry(url, $0, in: channel) },
        new: new.map { entries[url] ?? entry(url, $0, in: channel) })
    }
    let changes = new.map { change($0.url, $0.content) } + gone.map { change($0, nil) }
    return changes.sorted { $0.url < $1.url }
  }

  /// An entry as a release will make it, but for its numbers.
  static func entry(_ url: ResourceURL, _ content: ResourceContent, in channel: ChannelInfo) -> Entry {
    let path = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: ManifestVersion(1), resourceVersion: 1,
      sha256: content.sha256, url: url)
    return Entry(content, download: path.url(publicURL: channel.publicURL), version: 1)
  }
}
