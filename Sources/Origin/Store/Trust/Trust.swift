import Manifests
import System
import Trust
import Values

// What is read of roots and signatures.
extension Store {
  /// The roots of an app; nil if it has none.
  /// - Throws: `unknownApp`.
  package func trust(of app: AppName) throws(StoreError) -> AppTrust? {
    try connections.reading { (db) throws(StoreError) in
      let roots = try db.roots(ofApp: try db.requiredApp(app))
      return roots.isEmpty ? nil : AppTrust(roots: roots)
    }
  }

  /// Each bundle of a kept version of a channel with a root, ordered by name; empty in any other channel.
  package func bundleTrust(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [BundleTrust]
  {
    guard channel.namesBundles(at: version) else { return [] }
    return try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      guard let trust = try db.trust(ofChannel: channel.id) else { return [] }
      var bundles: [BundleTrust] = []
      for row in try db.contents(of: channel.id, at: version) {
        bundles.append(try db.choice(of: row, at: version, trust).trust)
      }
      return bundles
    }
  }

  /// The floors that a root has lowered, and that statements raise again on devices which get them now: those of what is live, and of the
  /// prefetch config.
  package func raisedFloors(of channel: ChannelInfo) throws(StoreError) -> [RaisedFloor] {
    guard channel.bundlesSince != nil else { return [] }
    return try connections.reading { (db) throws(StoreError) in
      guard let trust = try db.trust(ofChannel: channel.id), !trust.root.isOff else { return [] }
      var raised: [RaisedFloor] = []
      for row in try db.contents(of: channel.id, at: channel.full.version) {
        let signed = try db.choice(of: row, at: channel.full.version, trust).trust
        guard signed.problem == nil, let floor = signed.statement?.document.floor else { continue }
        let named = try db.floor(of: row.name.text, in: trust)
        if floor > named { raised.append(RaisedFloor(bundle: row.name, floor: floor, named: named)) }
      }
      if let config = try db.newest(.prefetch, of: channel.id),
        let floor = try trust.statement(forPrefetch: config.content, in: db)?.document.floor
      {
        let named = try db.floor(of: ChannelTrust.prefetch, in: trust)
        if floor > named { raised.append(RaisedFloor(bundle: nil, floor: floor, named: named)) }
      }
      return raised
    }
  }

  /// The lowest serial of prefetch configs that devices of a channel still take; nil if its app has no root.
  package func prefetchFloor(of channel: ChannelInfo) throws(StoreError) -> Serial? {
    try connections.reading { (db) throws(StoreError) in
      guard let trust = try db.trust(ofChannel: channel.id) else { return nil }
      return try db.floor(of: ChannelTrust.prefetch, in: trust)
    }
  }

  /// The statement of a version of the prefetch config; nil if none is stored.
  package func prefetchStatement(of channel: ChannelInfo, at version: Int64) throws(StoreError) -> Signed<
    PrefetchStatement
  >? {
    try connections.reading { (db) throws(StoreError) in
      guard let trust = try db.trust(ofChannel: channel.id),
        let config = try db.document(.prefetch, of: channel.id, at: version)
      else { return nil }
      return try trust.statement(forPrefetch: config.content, in: db)
    }
  }

  /// `root/N.json`: the envelope of a root, in canonical form; nil if the app has none of this number.
  package func rootDocument(of app: AppName, _ number: Int64) throws(StoreError) -> [UInt8]? {
    try connections.reading { (db) throws(StoreError) in
      try db.value(
        String.self,
        """
        SELECT r.envelope FROM app AS a JOIN trust_root AS r ON r.app_id = a.id WHERE a.name = ? AND r.number = ?
        """, app.text, number
      ).map { Array($0.utf8) }
    }
  }

  /// The member `trust` of an answer that leads to `version`, in canonical form: the newest head, and the statements of the
  /// bundles that differ from those at `base`, or of all; nil in a channel without a root, or with one that is off.
  ///
  /// A statement that was stored after `base` was released comes, too: what devices have may be no good under the root in force.
  package func answerTrust(of channel: ChannelInfo, from base: ManifestVersion?, to version: ManifestVersion)
    throws(StoreError) -> [UInt8]?
  {
    guard channel.namesBundles(at: version) else { return nil }
    return try connections.reading { (db) throws(StoreError) -> [UInt8]? in
      guard let trust = try db.trust(ofChannel: channel.id), !trust.root.isOff else { return nil }
      var known: [Int64: SHA256] = [:]
      var since = Int64.min
      if let base, channel.namesBundles(at: base), let stamp = try db.stamp(of: base, in: channel.id) {
        since = stamp.at.milliseconds
        for row in try db.contents(of: channel.id, at: base) { known[row.id] = row.digest }
      }
      var releases: [JSONValue] = []
      for row in try db.contents(of: channel.id, at: version) {
        let choice = try db.choice(of: row, at: version, trust)
        guard let statement = choice.trust.statement, choice.trust.problem == nil,
          known[row.id] != row.digest || choice.at ?? .max > since
        else { continue }
        releases.append(statement.envelope.json)
      }
      var members = JSONObject()
      if let head = try db.head(of: channel.id)?.signed { members["head"] = head.envelope.json }
      members["releases"] = .array(releases)
      return JSONValue.object(members).canonical
    }
  }

  /// Whether entries name their bundle in only one of two versions, so that neither a patch nor a pack leads from one to the other, and an
  /// answer to a device with `base` is the one to a device with an unknown version.
  package func crossesRebase(
    _ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion
  ) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in
      try db.crossesRebase(channel.id, from: base, to: version)
    }
  }
}

extension Database {
  /// The row of an app.
  /// - Throws: `unknownApp`, `appNameTaken`.
  func requiredApp(_ app: AppName) throws(StoreError) -> Int64 {
    guard let name = try AppRow.name(app, in: self), let id = try AppRow.id(of: app, in: self) else {
      throw .unknownApp(app)
    }
    // The column ignores case, but names that differ only in case are not the same name.
    guard name == app else { throw .appNameTaken(app, by: name) }
    return id
  }
}
