import Manifests
import Store
import System

/// A data folder, which a server may be using.
package final class DataSource: MirrorSource {
  private let store: Store
  private let lease = Locked<String?>(nil)
  private let infos = Locked<[ChannelName: [AppName: ChannelInfo]]>([:])

  /// Opens the folder; a server may have it open at the same time.
  package init(data: String) throws(MirrorError) {
    var options = Store.Options()
    options.isSecondary = true
    store = try MirrorError.store { () throws(StoreError) in try Store(path: data, options: options) }
  }

  package init(store: Store) { self.store = store }

  package func origin() throws(MirrorError) -> OriginState {
    try MirrorError.store { () throws(StoreError) in
      OriginState(
        id: try store.originID(), defaultApp: try store.defaultApp(), audit: try store.auditHead(),
        readable: .all,
        // An older server's database has no such table.
        purges: ((try? store.purges()) ?? []).map { PurgedBytes(sha256: $0.sha256, at: $0.at) })
    }
  }

  package func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    try withHeads { () throws(MirrorError) in try states(keep: keep) }
  }

  private func states(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    try MirrorError.store { () throws(StoreError) in
      var states: [MirroredChannelState] = []
      for newest in try store.channels() {
        let info = newest.full
        guard info.version > .none, let digest = info.digest else { continue }
        infos.withLock { $0[info.name, default: [:]][info.app] = newest }
        var state = MirroredChannelState(
          app: info.app, appID: info.appID, channel: info.name, publicURL: info.publicURL,
          version: info.version, digest: digest, versions: try store.keptVersions(of: info, keep: keep),
          extras: try store.answerExtras(of: info), scripts: try store.policyScripts(of: info),
          candidateDigest: newest.rollout == nil ? nil : newest.digest, bundlesSince: info.bundlesSince)
        if case .stored(let pack) = try store.firstPack(of: info) { state.first = pack.offer(of: info) }
        states.append(state)
      }
      return states
    }
  }

  package func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource] {
    let info = info(channel)
    return try MirrorError.store { () throws(StoreError) in
      try store.mirroredResources(
        of: info, from: channel.versions.first ?? channel.version, through: channel.highest)
    }
  }

  package func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError)
    -> [UInt8]
  {
    let info = info(channel)
    return try MirrorError.store { () throws(StoreError) in try store.mirrorDocument(document, of: info) }
  }

  package func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    let path = store.folder.blob(resource.sha256)
    let isThere = try MirrorError.disk { () throws(SystemError) in try Kernel.status(path) != nil }
    guard isThere else { throw .lost(path: resource.path.text) }
    return LocalFile(path: path, isTemporary: false)
  }

  package func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    // A damaged delta is dropped, and the next run plans without it, or with one made again.
    let isWhole = try MirrorError.store { () throws(StoreError) in
      try store.derived.open(delta.target, on: delta.base) != nil
    }
    guard isWhole else { throw .lost(path: delta.text) }
    return LocalFile(path: store.derived.deltaFile(delta.target, on: delta.base), isTemporary: false)
  }

  package func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    let info = info(channel)
    let isWhole = try MirrorError.store { () throws(StoreError) in
      try store.derived.openPack(pack, of: info.id) != nil
    }
    guard isWhole else { throw .lost(path: pack.text) }
    return LocalFile(path: store.derived.packFile(pack, of: info.id), isTemporary: false)
  }

  package func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool {
    guard let base = zip.base else { return true }
    let info = info(channel)
    return try MirrorError.store { () throws(StoreError) in
      if try store.zipFile(zip, of: info) != nil { return true }
      return try store.derived.isDone(info.id, from: base, to: zip.version)
    }
  }

  /// Returns the zip that the origin has already made, or else makes one for the mirror: the bytes are the same.
  package func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    let info = info(channel)
    return try MirrorError.store { () throws(StoreError) in
      if let made = try store.zipFile(zip, of: info) { return LocalFile(path: made, isTemporary: false) }
      var deltas: [ZipDelta] = []
      if let base = zip.base { deltas = try store.zipDeltas(info, from: base, to: zip.version) }
      try store.makeZip(zip, of: info, deltas: deltas, threads: Environment.cores, at: path)
      return LocalFile(path: path, isTemporary: true)
    }
  }

  /// Returns the channel as it was when the run began.
  private func info(_ channel: MirroredChannelState) -> ChannelInfo {
    guard let info = infos.withLock({ $0[channel.channel]?[channel.app] }) else {
      fatalError("a channel that this source didn't give")
    }
    return info
  }

  // MARK: - The lease

  package func hold(_ seconds: Int) throws(MirrorError) {
    let held = lease.withLock { $0 }
    try MirrorError.store { () throws(StoreError) in
      if let held { return try store.renewLease(held, seconds: seconds) }
      let taken = try store.acquireLease(holder: "mirror", seconds: seconds)
      lease.withLock { $0 = taken.id }
    }
  }

  package func release() {
    guard let held = lease.withLock({ $0.take() }) else { return }
    // Otherwise it expires.
    try? store.endLease(held)
  }

  package func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError) {
    try MirrorError.store { () throws(StoreError) in try store.register(mirror: name, versions) }
  }
}
