import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// A channel's content, past and present: `/apps/{app}/channels/{channel}/log | diff | manifest | releases/{version} |
/// bundles/{bundle}/entries`.
struct HistoryHandler: APIHandler {
  let context: RequestContext

  /// `GET …/log`
  func log() throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...1000) ?? 50
    var before = try request.version("before")
    if let name = try request.versionName("at") {
      before = ManifestVersion(try store.version(name, of: channel).number + 1)
    }
    let releases = try store.log(channel, limit: limit, before: before)
    return .json(
      ReleaseLog(
        releases: try releases.map {
          var info = ReleaseInfo($0)
          info.rollout = try store.rollout(of: $0.version, in: channel).map { RolloutInfo($0) }
          return info
        }))
  }

  /// `GET …/diff?from=A&to=B`
  func diff() throws -> Response {
    let channel = try context.channel()
    guard let older = try request.versionName("from"), let newer = try request.versionName("to") else {
      throw Problem.badRequest("a diff needs two versions: from=A&to=B")
    }
    let (from, to) = (try store.version(older, of: channel), try store.version(newer, of: channel))
    for (name, version) in [(older, from), (newer, to)] where version == .none {
      // A moment before the first release; 0 itself stands for a new device.
      if case .moment = name { throw StoreError.unknownVersion(.none) }
    }
    let changes = try store.diff(channel, from: from, to: to)
    let transfers = try DiffTransfers(changes, channel, from: from, DerivedFacts(store: store))
    let cost = try transfers.cost(channel, from: from, to: to, store)
    var answer = DiffAnswer(from: from, to: to, cost: TransferCost(cost))
    let renames = try renames(changes, transfers)
    let page = try page(of: changes, renames, &answer)
    for change in page {
      guard let content = change.now ?? change.was else { continue }
      var file = DiffAnswer.File(content, at: change.url)
      if change.now == nil {
        file.renamedTo = renames?.after[change.url]?.text
        answer.removed.append(file)
        continue
      }
      (file.plain, file.delta) = transfers.sizes(of: content)
      file.was = change.was
      if let former = renames?.before[change.url], let was = former.was {
        file.renamedFrom = .init(was, at: former.url)
      }
      if change.was == nil { answer.added.append(file) } else { answer.changed.append(file) }
    }
    return .json(answer)
  }

  /// Returns which files only have another URL; nil if no files are asked for.
  private func renames(_ changes: [ContentChange], _ transfers: DiffTransfers) throws -> RenamedFiles? {
    if try request.number("limit", in: 0...10_000) == 0 { return nil }
    let derived = store.derived
    return try RenamedFiles(changes, bases: transfers.bases) { (files) throws(StoreError) in
      var sketches: [SHA256: Sketch] = [:]
      for (cut, group) in Dictionary(grouping: files, by: \.cut.number) {
        for (sha256, encoded) in try derived.sketches(of: group.map(\.sha256), cut: cut) {
          sketches[sha256] = Sketch(encoded: encoded)
        }
      }
      return sketches
    }
  }

  /// Returns the changes selected by `limit`, `after` and `filter`, sorted by URL; without these, all of them. A filter that finds
  /// one URL of a renamed file finds the other one, too.
  private func page(of changes: [ContentChange], _ renames: RenamedFiles?, _ answer: inout DiffAnswer) throws
    -> [ContentChange]
  {
    let limit = try request.number("limit", in: 0...10_000)
    let (after, filter) = (request.text("after"), request.text("filter"))
    guard limit != nil || after != nil || filter != nil else {
      answer.renamed = renames?.before.count
      return changes
    }
    let meant =
      filter.map { words in
        changes.filter { change in
          let other = renames?.before[change.url]?.url ?? renames?.after[change.url]
          return change.url.text.contains(words) || other?.text.contains(words) == true
        }
      } ?? changes
    answer.renamed = renames.map { renames in meant.count { renames.before[$0.url] != nil } }
    var (added, removed) = (0, 0)
    for change in meant {
      if change.was == nil { added += 1 } else if change.now == nil { removed += 1 }
    }
    answer.counts = ChangeCounts(added: added, changed: meant.count - added - removed, removed: removed)
    let rest =
      after.map { after in
        meant.drop { $0.url.text.utf8.lexicographicallyPrecedes(after.utf8) || $0.url.text == after }
      }
      ?? meant[...]
    guard let limit, rest.count > limit else { return Array(rest) }
    // A page without rows has none to continue after.
    answer.next = limit == 0 ? nil : rest.prefix(limit).last?.url.text
    return Array(rest.prefix(limit))
  }

  /// `GET …/entry?url=…&version=N`: a manifest's entry for a URL.
  func entry() throws -> Response {
    let channel = try context.channel()
    guard let text = request.text("url"), let url = try? ResourceURL(text) else {
      throw Problem.badRequest("url= must be the URL of a resource")
    }
    let name = try request.versionName("version") ?? .number(channel.full.version)
    let version = try store.version(name, of: channel)
    guard let entry = try store.entry(url, of: channel, at: version) else {
      throw Problem(.notFound, "unknown-url", "version \(version) has no \(url)")
    }
    return .json(entry.json)
  }

  /// `GET …/manifest`: the canonical resourcemap of a version, byte for byte as devices got it.
  func manifest() throws -> Response {
    let channel = try context.channel()
    let name = try request.versionName("version") ?? .number(channel.full.version)
    let version = try store.version(name, of: channel)
    let map = try ManifestMap(store, channel, at: version)
    return .json(map.body(), with: ("X-Xcache-Version", version.text))
  }

  /// `GET …/releases/{version}`: a release's record in the log.
  func release() throws -> Response {
    let channel = try context.channel()
    let version = try store.version(VersionName.read(request.path[5], in: ""), of: channel)
    let record = try store.release(version, of: channel)
    var info = ReleaseInfo(record)
    // Of the first version, what a new device downloads.
    let before = try store.base(of: version, in: channel)
    info.cost = TransferCost(try cost(channel, from: before, to: version))
    let lazy = try store.lazyResources(of: channel, at: version)
    if lazy.count > 0 { info.lazy = LazyFiles(files: lazy.count, bytes: lazy.bytes) }
    info.rollout = try store.rollout(of: version, in: channel).map { RolloutInfo($0) }
    let routes = try store.routes(of: channel, at: version).map {
      ReleaseInfo.Routes(bundle: $0.bundle.text, page: $0.page.text, fallback: $0.fallbacks)
    }
    info.routes = routes.isEmpty ? nil : routes
    if let row = try store.row(of: record, in: channel) {
      info.receipt = row.receipt.text
      info.note(signed: row.result)
    }
    return .json(info)
  }

  private func cost(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> UpdateCost
  {
    let changes = try store.diff(channel, from: from, to: to)
    return try DiffTransfers(changes, channel, from: from, DerivedFacts(store: store))
      .cost(channel, from: from, to: to, store)
  }

  /// `GET …/bundles/{bundle}/entries`
  func entries() throws -> Response {
    let channel = try context.channel()
    let bundle = try BundleName(request.path[5])
    let held = try store.entries(of: bundle, in: channel, since: try request.version("since"))
    return .json(
      BundleEntries(
        bundle: bundle, version: held.version, channelVersion: held.channelVersion, base: held.base,
        entries: JSONObject(
          held.entries.map { .init(key: $0.url.text, value: $0.content?.json ?? .null) })))
  }
}

extension ReleaseInfo {
  init(_ release: ReleaseRecord) {
    let details = release.details
    self.init(
      version: release.version, kind: release.kind.rawValue, at: Moment(milliseconds: release.at),
      author: release.author, message: release.message, digest: release.digest,
      counts: release.counts,
      bundles: release.bundles.map { .init(bundle: $0.name.text, counts: $0.counts) },
      newBytes: release.newBytes, resources: release.resources, bytes: release.bytes,
      source: details.source, breakGlass: details.emergencyOverride)
  }
}

extension ReleaseInfo {
  /// Adds who signed what, as the audit trail has it in a release's result.
  fileprivate mutating func note(signed result: String) {
    let signed = (try? JSONValue.parse(Array(result.utf8)))?["signed"]?.array ?? []
    for index in bundles.indices {
      guard let own = signed.first(where: { $0["bundle"]?.string == bundles[index].bundle }) else { continue }
      bundles[index].serial = own["serial"]?.integer
      bundles[index].keys = own["keys"]?.array?.compactMap(\.string)
    }
  }
}
