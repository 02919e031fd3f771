import Manifests
import System
import Values

/// Writes a planned release inside the transaction that its caller began.
struct ReleaseWriter {
  private let db: Database
  private let plan: ReleasePlan
  private let request: ReleaseInput
  private let blobs: BlobStore
  private let channel: ChannelInfo
  private let version: ManifestVersion
  /// Milliseconds since 1970.
  private let at: Int64
  /// Whether the release is to go to a part of the fleet first.
  private let isCandidate: Bool

  /// Ids found so far for what is said of bytes.
  private var contentTypes: [ResourceContent.Form: Int64] = [:]
  private var urls: URLRows
  /// The resource that the channel holds under each URL after the release.
  private var resources: [ResourceURL: Int64]
  /// The ids of the new blobs.
  private var newBlobs: [SHA256: Int64] = [:]
  /// New rows with their ids, inserted all at once.
  private var newURLs: [(id: Int64, url: ResourceURL)] = []
  private var newResources: [(id: Int64, row: ResourceRow)] = []
  private var nextURL: Int64 = 0
  private var nextResource: Int64 = 0

  init(_ plan: ReleasePlan, of request: ReleaseInput, in db: Database, blobs: BlobStore, now: Int64)
    throws(StoreError)
  {
    self.db = db
    self.plan = plan
    self.request = request
    self.blobs = blobs
    if case .remake = request.act { isCandidate = true } else { isCandidate = plan.effect == .opens }
    if let known = plan.channel {
      channel = known
    } else {
      let made = try db.makeChannel(
        request.app, request.channel, publicURL: request.publicURLForNew, now: now)
      channel = plan.namesBundles ? made.namingBundles(since: made.nextVersion) : made
    }
    version = channel.nextVersion
    // Release times never go back, even if the clock does.
    at = max(now, channel.at ?? 0)
    urls = URLRows(of: channel.id, known: plan.urlIDs, capacity: plan.union.count)
    resources = plan.shared
    resources.reserveCapacity(plan.union.count + plan.shared.count)
  }

  /// Writes the release.
  /// - Parameter digest: called once, returns the SHA-256 of the resulting resourcemap. It is passed a closure that
  ///   writes rows, which it may do meanwhile and must have done when it returns.
  mutating func write(
    digest: (PreparedRelease, _ rows: () throws(StoreError) -> Void) throws(StoreError) -> SHA256
  ) throws(StoreError) -> ReleaseOutcome {
    var changes: [EntryChange] = []
    changes.reserveCapacity(plan.union.count)
    newBlobs = try BlobRow.insertNew(try placedBlobs(), now: at, in: db)
    nextURL = try URLRow.nextID(for: plan.union.count, in: db)
    nextResource = try ResourceRow.nextID(for: plan.union.count, in: db)
    for step in plan.union {
      changes.append(
        EntryChange(
          url: step.url,
          entry: try step.new.map { (content) throws(StoreError) in
            try entry(step.url, content, step.bundle)
          }, old: step.old?.content))
    }
    let prepared = PreparedRelease(channel: channel, version: version, at: at, changes: changes)
    let (db, channel, urlRows, resourceRows) = (db, channel, newURLs, newResources)
    (newURLs, newResources) = ([], [])
    let digest = try digest(prepared) { () throws(StoreError) in
      try URLRow.insert(urlRows, of: channel.id, in: db)
      try ResourceRow.insert(resourceRows, in: db)
    }
    try ReleaseRow(
      channel: channel.id, version: version, kind: request.kind, at: at, author: request.author,
      message: request.message, digest: digest, counts: plan.counts, newBytes: plan.newBytes,
      resources: plan.resources, bytes: plan.bytes
    ).insert(isCandidate: isCandidate, in: db)
    if channel.bundlesSince == version { try db.nameBundles(of: channel.id, since: version) }
    try writeEntries(try writeBundles())
    return outcome(changes, digest)
  }

  // MARK: - Resources

  /// The manifest entry for a content of a URL: that of the resource it had before, or else of a new one with the next
  /// resource version.
  private mutating func entry(_ url: ResourceURL, _ content: ResourceContent, _ bundle: BundleName?)
    throws(StoreError) -> Entry
  {
    let blob = try blobID(url, content)
    let type = try contentTypeID(content.identity.form)
    let known = urls[url]
    if let known, let old = try oldEntry(url, known, blob: blob, type: type, content, bundle) { return old }
    let number = try known.map { (id) throws(StoreError) in try URLRow.nextVersion(of: id, in: db) } ?? 1
    addResource(
      url,
      ResourceRow(
        url: known ?? addURL(url), version: number, blob: blob, contentType: type,
        publicURL: channel.publicURLID, broughtIn: version))
    return channel.entry(url, content, number, broughtIn: version, channel.publicURL, bundle: bundle)
  }

  private mutating func addResource(_ url: ResourceURL, _ row: ResourceRow) {
    newResources.append((nextResource, row))
    resources[url] = nextResource
    nextResource += 1
  }

  /// Adds a row for a URL that the channel has never seen, and returns its id.
  private mutating func addURL(_ url: ResourceURL) -> Int64 {
    let id = nextURL
    nextURL += 1
    newURLs.append((id, url))
    urls.add(url, id)
    return id
  }

  /// "Bytes that come back get their old version and download URL back", below the channel's public URL of today.
  private mutating func oldEntry(
    _ url: ResourceURL, _ urlID: Int64, blob: Int64, type: Int64, _ content: ResourceContent,
    _ bundle: BundleName?
  ) throws(StoreError) -> Entry? {
    let old = try ResourceRow.find(url: urlID, blob: blob, contentType: type, of: channel, in: db) {
      (
        id: $0, number: $1, broughtIn: $2,
        entry: channel.entry(url, content, $1, broughtIn: $2, $3, bundle: bundle)
      )
    }
    guard let old else { return nil }
    if let id = old.id {
      resources[url] = id
    } else {
      addResource(
        url,
        ResourceRow(
          url: urlID, version: old.number, blob: blob, contentType: type, publicURL: channel.publicURLID,
          broughtIn: old.broughtIn))
    }
    return old.entry
  }

  private mutating func contentTypeID(_ form: ResourceContent.Form) throws(StoreError) -> Int64 {
    if let known = contentTypes[form] { return known }
    let id = try ContentTypeRow.findOrInsert(
      form.ctype.text, form.headers, form.fallbacks, isLazy: form.isLazy, in: db)
    contentTypes[form] = id
    return id
  }

  /// The bytes of this release that are durable under `blobs/` by now (before step 4 of the order in
  /// `BlobStore+Persisting`) and that mostly have no row yet.
  private func placedBlobs() throws(StoreError) -> [FileDigest] {
    let contents = plan.union.compactMap { step in step.new.map { (step.url, $0) } }
    let persisted = blobs.persisted(Set(contents.map(\.1.sha256)))
    for (url, content) in contents {
      if let digest = persisted[content.sha256] { try content.check(against: digest, url) }
    }
    return Array(persisted.values)
  }

  /// The id of a content's bytes.
  private func blobID(_ url: ResourceURL, _ content: ResourceContent) throws(StoreError) -> Int64 {
    let sha256 = content.sha256
    if let id = newBlobs[sha256] { return id }
    if let row = try BlobRow.find(sha256, in: db), !row.isQuarantined {
      try content.check(against: row.digest, url)
      return row.id
    }
    guard let digest = blobs.persisted(sha256) else { throw .missingBlobs([sha256]) }
    try content.check(against: digest, url)
    return try BlobRow.insert(digest, now: at, in: db)
  }

  // MARK: - The rows of bundles

  /// Writes what the release did to each bundle, and returns the bundles' ids with their steps.
  private func writeBundles() throws(StoreError) -> [(id: Int64, steps: [ReleasePlan.Step])] {
    var rows: [(id: Int64, steps: [ReleasePlan.Step])] = []
    for bundle in plan.bundles where !bundle.steps.isEmpty {
      let id: Int64
      if let info = bundle.info {
        id = info.id
      } else {
        id = try BundleRow.insert(bundle.name, of: channel.id, in: db)
      }
      let growth = ReleasePlan.growth(bundle.steps)
      try ReleaseBundleRow(
        bundle: id, version: version, channel: channel.id, counts: plan.counts(of: bundle),
        resources: (bundle.info?.resources ?? 0) + growth.resources,
        bytes: (bundle.info?.bytes ?? 0) + growth.bytes
      ).insert(in: db)
      rows.append((id, bundle.steps))
    }
    return rows
  }

  /// Ends the old rows of all bundles before any new one begins, because live rows of a URL have to agree.
  private func writeEntries(_ bundles: [(id: Int64, steps: [ReleasePlan.Step])]) throws(StoreError) {
    for (bundle, steps) in bundles {
      for step in steps where step.old != nil {
        try EntryRow.end(url: try urls.id(of: step.url), bundle: bundle, at: version, in: db)
      }
    }
    var rows: [(row: EntryRow, resource: Int64)] = []
    for (bundle, steps) in bundles {
      for step in steps where step.new != nil {
        guard let resource = resources[step.url] else { throw .corruptRow(step.url.text) }
        rows.append((EntryRow(url: try urls.id(of: step.url), bundle: bundle, since: version), resource))
      }
    }
    try EntryRow.insert(rows, in: db)
  }

  private func outcome(_ changes: [EntryChange], _ digest: SHA256) -> ReleaseOutcome {
    let after = channel.after(
      version, at: at, digest: digest, resources: plan.resources, bytes: plan.bytes)
    return ReleaseOutcome(
      changed: true, channel: request.kind == .rollback ? after.rolledBack() : after,
      version: version, previous: channel.version, at: at, changes: changes, counts: plan.counts,
      bundles: plan.reported.map { ReleaseOutcome.Bundle($0, plan) }, newBytes: plan.newBytes,
      resources: plan.resources,
      bytes: plan.bytes, createdApp: !plan.appExists, createdChannel: plan.channel == nil, missing: [])
  }
}

extension ChannelInfo {
  /// The manifest entry of a content that a version brought in, below a public URL.
  /// - Parameter bundle: the bundle that it names; nil if entries of its version name none.
  func entry(
    _ url: ResourceURL, _ content: ResourceContent, _ number: Int64, broughtIn: ManifestVersion,
    _ base: BaseURL, bundle: BundleName? = nil
  ) -> Entry {
    let download = DownloadPath(
      channel: name, appID: appID, manifestVersion: broughtIn, resourceVersion: number,
      sha256: content.sha256, url: url)
    return Entry(content, download: download.url(publicURL: base), version: number, bundle: bundle)
  }
}

extension Database {
  /// The entry that a release would write for a content of a URL.
  /// - Parameters:
  ///   - content: the content.
  ///   - url: the URL.
  ///   - id: the URL's id; nil if the channel has never seen it.
  ///   - bundle: the bundle that the entry names; nil: none.
  ///   - channel: the channel.
  func nextEntry(
    _ content: ResourceContent, of url: ResourceURL, _ id: Int64?, bundle: BundleName?,
    in channel: ChannelInfo
  ) throws(StoreError) -> Entry {
    var number: Int64 = 1
    if let id {
      let form = content.identity.form
      if let blob = try value(Int64.self, "SELECT id FROM blob WHERE sha256 = ?", content.sha256),
        let type = try ContentTypeRow.find(
          form.ctype.text, form.headers, form.fallbacks, isLazy: form.isLazy, in: self)
      {
        let old = try ResourceRow.find(url: id, blob: blob, contentType: type, of: channel, in: self) {
          channel.entry(url, content, $1, broughtIn: $2, $3, bundle: bundle)
        }
        if let old { return old }
      }
      number = try URLRow.nextVersion(of: id, in: self)
    }
    return channel.entry(
      url, content, number, broughtIn: channel.nextVersion, channel.publicURL, bundle: bundle)
  }
}
