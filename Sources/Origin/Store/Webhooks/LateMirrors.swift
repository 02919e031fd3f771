import Manifests

/// A mirror that has lacked a release for longer than it should.
struct LateMirror: Hashable, Sendable {
  let mirror: String
  let channel: ChannelInfo
  /// The newest version that it names.
  let version: ManifestVersion
  /// When the first release that it lacks was made, in milliseconds since 1970.
  let since: Int64
}

extension Store {
  /// After how many milliseconds a mirror without a release is late.
  package static let mirrorMayLag: Int64 = 3_600_000

  /// Tells webhooks of mirrors that have become late, once each until they have caught up; called every minute.
  package func announceLateMirrors() throws(StoreError) {
    let now = clock()
    let isDue = try connections.reading { (db) throws(StoreError) in
      let wanted = try db.webhooks().contains { $0.disabled == nil && $0.events.contains(.mirrorLate) }
      guard wanted else { return false }
      return try Set(db.lateMirrors(now: now).map(LateMirrorKey.init)) != db.announcedLateMirrors()
    }
    guard isDue else { return }
    try connections.transaction { (db) throws(StoreError) in
      let (late, announced) = (try db.lateMirrors(now: now), try db.announcedLateMirrors())
      try db.run("DELETE FROM late_mirror")
      for mirror in late {
        try db.run(
          "INSERT INTO late_mirror (mirror, channel_id) VALUES (?, ?)", mirror.mirror, mirror.channel.id)
        if !announced.contains(LateMirrorKey(mirror)) { try db.announce([.late(mirror)], now: now) }
      }
    }
  }
}

/// Identifies a mirror that is late with a channel.
private struct LateMirrorKey: Hashable {
  let mirror: String
  let channel: Int64

  init(mirror: String, channel: Int64) {
    self.mirror = mirror
    self.channel = channel
  }

  init(_ late: LateMirror) { self.init(mirror: late.mirror, channel: late.channel.id) }
}

extension Database {
  fileprivate func announcedLateMirrors() throws(StoreError) -> Set<LateMirrorKey> {
    Set(
      try all("SELECT mirror, channel_id FROM late_mirror") {
        LateMirrorKey(mirror: $0.get(0), channel: $0.get(1))
      })
  }

  /// The mirrors that have lacked a release of a channel for too long.
  fileprivate func lateMirrors(now: Int64) throws(StoreError) -> [LateMirror] {
    // A copy's version is the full one; a candidate comes beside it.
    let channels = try channels().map(\.full)
    var late: [LateMirror] = []
    for (id, name) in try all(
      "SELECT id, name FROM mirror ORDER BY name",
      read: {
        ($0.get(0, as: Int64.self), $0.get(1, as: String.self))
      })
    {
      let newestOf = Dictionary(
        try versions(ofMirror: id).map { (EventChannel(app: $0.app, channel: $0.channel), $0.version) },
        uniquingKeysWith: max)
      for channel in channels {
        guard let newest = newestOf[EventChannel(app: channel.app, channel: channel.name)],
          newest < channel.version,
          let since = try value(
            Int64?.self,
            "SELECT min(at) FROM release WHERE channel_id = ? AND version > ? AND version <= ?", channel.id,
            newest.number, channel.version.number) ?? nil, now - since > Store.mirrorMayLag
        else { continue }
        late.append(LateMirror(mirror: name, channel: channel, version: newest, since: since))
      }
    }
    return late
  }
}
