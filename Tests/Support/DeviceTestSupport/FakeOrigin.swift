import Manifests
import System
import Values

@testable import XCacheDevice

/// An origin, its mirror and its CDN in memory: a channel's history, served as the design says.
package final class FakeOrigin: Transport {
  /// What a request gets instead of the right answer.
  package enum Fault: Sendable {
    case error(TransportError)
    case status(Int)
    /// This body, with status 200.
    case body([UInt8])
  }

  package static let server = "https://origin.test/base"
  package static let mirror = "https://mirror.test"

  private struct EntryKey: Hashable {
    let sha256: SHA256
    let isLazy: Bool
  }

  private struct State {
    var history: [Int64: JSONObject] = [:]
    var newest: Int64 = 0
    /// The candidate of the open rollout, and its rule.
    var candidate: (version: Int64, rule: String)?
    var downloads: [String: [UInt8]] = [:]
    var versions: [String: [EntryKey: Entry]] = [:]
    var log: [String] = []
    /// Documents that were posted, with their URL.
    var told: [(url: String, document: JSONValue)] = []
    var isHolding = false
    var fault: (@Sendable (String) -> Fault?)?
    var extra = ""
    /// The server's clock, in milliseconds since 1970.
    var time: (@Sendable () -> Int64)?
    /// What patches offer.
    var deltas: [DeltaOffer] = []
    /// Bytes are handed over in pieces of so many.
    var piece = 1 << 16
    /// Packs to the newest version, by the version that they start from.
    var packs: [Int64: PackAnswer] = [:]
    /// Bytes after which the next downloads of a pack, or of what else is torn, break off.
    var tears: [Int] = []
    var torn = ".xpk"
    /// Told of each piece before it is handed over.
    var eachPiece: (@Sendable (String) -> Void)?
    var knowsRanges = true
    /// Bytes that an answer with a pack has at most.
    var slice: Int?
    /// The entity tag of downloads of packs, or of what else is torn, in place of their MD5; empty for none.
    var tag: String?
    /// What downloads of packs asked for.
    var ranges: [TransportRequest] = []
  }

  private let state = Locked(State())

  package init() {}

  /// Makes the next version: `files` by URL, and which of them are lazy.
  @discardableResult
  package func publish(
    _ files: [String: [UInt8]], version: Int64? = nil, lazy: Set<String> = []
  ) throws -> Int64 {
    let number = version ?? state.withLock { $0.newest } + 1
    var members: [JSONObject.Member] = []
    for (url, bytes) in files {
      members.append(.init(key: url, value: try entry(url, bytes, number, lazy.contains(url)).json))
    }
    let map = JSONObject(members)
    state.withLock { state in
      state.newest = number
      state.history[number] = map
    }
    return number
  }

  private func entry(_ url: String, _ bytes: [UInt8], _ number: Int64, _ isLazy: Bool) throws -> Entry {
    var hasher = FileHasher()
    hasher.update(bytes.span.bytes)
    let digest = hasher.finish()
    let address = try ResourceURL(url)
    return state.withLock { state in
      let key = EntryKey(sha256: digest.sha256, isLazy: isLazy)
      if let known = state.versions[url]?[key] { return known }
      let version = Int64(state.versions[url]?.count ?? 0) + 1
      let path = DownloadPath(
        channel: .online, appID: 1, manifestVersion: ManifestVersion(number), resourceVersion: version,
        sha256: digest.sha256, url: address)
      let entry = Entry(
        ctype: "text/plain;charset=UTF-8", download: "https://cdn.test/x/\(path.text)", md5: digest.md5,
        sha256: digest.sha256, size: digest.size, version: version,
        others: isLazy ? JSONObject([.init(key: "lazy", value: .bool(true))]) : JSONObject())
      state.versions[url, default: [:]][key] = entry
      state.downloads[entry.download] = bytes
      return entry
    }
  }

  /// Puts a resourcemap of any kind in place of the next version.
  package func publish(raw map: JSONObject, version: Int64) {
    state.withLock { state in
      state.newest = version
      state.history[version] = map
    }
  }

  package func serve(_ bytes: [UInt8], at url: String) { state.withLock { $0.downloads[url] = bytes } }

  /// The newest version again, whatever came after it.
  package func restore(to version: Int64) { state.withLock { $0.newest = version } }

  package func forget(_ version: Int64) { state.withLock { $0.history[version] = nil } }

  package func fail(_ fault: (@Sendable (String) -> Fault?)?) { state.withLock { $0.fault = fault } }

  package func setInterval(_ seconds: Int?) {
    state.withLock { $0.extra = seconds.map { ",\"interval\":\($0)" } ?? "" }
  }

  /// Further members of every answer: `,"policy":"7"`.
  package func say(_ members: String) { state.withLock { $0.extra = members } }

  package func setClock(_ time: (@Sendable () -> Int64)?) { state.withLock { $0.time = time } }

  package func setPiece(_ bytes: Int) { state.withLock { $0.piece = bytes } }

  /// Serves a delta and offers it beside every patch.
  package func offer(_ delta: [UInt8], for url: String, on base: [UInt8]) throws {
    let offer = DeltaOffer(
      url: try ResourceURL(url), base: SHA256.of(base),
      download: "https://cdn.test/x/delta/\(SHA256.of(delta)).dcz", size: Int64(delta.count))
    state.withLock { state in
      state.deltas = (state.deltas.filter { $0.url != offer.url } + [offer]).sorted { $0.url < $1.url }
      state.downloads[offer.download] = delta
    }
  }

  /// Serves a pack from `base` to the newest version, and answers polls with it; `change` may spoil it.
  /// - Returns: its bytes, and where its records begin and the last one ends.
  @discardableResult
  package func offerPack(
    from base: Int64, size: Int64? = nil, _ change: (inout [UInt8]) -> Void = { _ in }
  ) throws -> (bytes: [UInt8], bounds: [Int]) {
    let (newest, old, new, files) = state.withLock { state in
      (
        state.newest, state.history[base] ?? JSONObject(), state.history[state.newest] ?? JSONObject(),
        Dictionary(state.downloads.values.map { (SHA256.of($0), $0) }) { $1 }
      )
    }
    var maker = try PackMaker((base, old), (newest, new)) { files[$0] }
    let made = try maker.make()
    var bytes = made
    change(&bytes)
    let path = PackPath(
      channel: .online, app: try AppName("shop"), base: maker.base.version, version: maker.next.version,
      sha256: SHA256.of(bytes))
    let answer = PackAnswer(
      base: maker.base.version, version: maker.next.version, digest: maker.next.map.digest,
      pack: PackOffer(download: "https://cdn.test/x/\(path)", size: size ?? Int64(bytes.count)))
    state.withLock { state in
      state.packs = [base: answer]
      state.downloads[answer.pack.download] = bytes
    }
    return (made, maker.bounds)
  }

  /// The answer that names the pack from `base`.
  package func answerWithPack(from base: Int64) -> [UInt8]? {
    state.withLock { $0.packs[base] }.map { Documents.pack($0) }
  }

  /// Polls are answered with patches again.
  package func forgetPacks() { state.withLock { $0.packs = [:] } }

  /// The next downloads of a pack, or of files with these words in their URL, break off after so many bytes each.
  package func tear(_ files: String = ".xpk", after counts: [Int]) {
    state.withLock { state in
      state.tears = counts
      state.torn = files
    }
  }

  /// Has `body` run, on the thread that fetches, before each piece of a body.
  package func eachPiece(_ body: (@Sendable (String) -> Void)?) { state.withLock { $0.eachPiece = body } }

  /// Packs are answered with at most so many bytes at a time.
  package func setSlice(_ bytes: Int) { state.withLock { $0.slice = bytes } }

  package func setTag(_ tag: String?) { state.withLock { $0.tag = tag } }

  package func setRanges(_ areKnown: Bool) { state.withLock { $0.knowsRanges = areKnown } }

  /// What was asked for of packs since the last call.
  package func takeRanges() -> [TransportRequest] {
    state.withLock { state in
      defer { state.ranges = [] }
      return state.ranges
    }
  }

  /// Opens a rollout of a version, while another one is what everyone else gets; or closes it.
  package func rollOut(
    _ candidate: Int64?, full: Int64, seed: String = "seed", share: Int = 10_000, _ members: String = ""
  ) {
    state.withLock { state in
      state.newest = full
      state.candidate = candidate.map {
        ($0, #","rollout":{"seed":"\#(seed)","share":\#(share),"version":"\#($0)"\#(members)}"#)
      }
    }
  }

  /// URLs asked for since the last call.
  package func takeLog() -> [String] {
    state.withLock { state in
      defer { state.log = [] }
      return state.log
    }
  }

  /// What was posted since the last call.
  package func takeTold() -> [(url: String, document: JSONValue)] {
    state.withLock { state in
      defer { state.told = [] }
      return state.told
    }
  }

  /// While true, whoever posts waits.
  package func hold(_ holds: Bool) { state.withLock { $0.isHolding = holds } }

  package func tell(_ document: [UInt8], to url: String) {
    while state.withLock({ $0.isHolding }) { Clock.sleep(for: .milliseconds(1)) }
    state.withLock { $0.told.append((url, (try? JSONValue.parse(document)) ?? .null)) }
  }

  // MARK: Answers

  package func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  package func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    let (fault, piece) = state.withLock { state in
      state.log.append(request.url)
      return (state.fault?(request.url), state.piece)
    }
    var body: [UInt8]?
    var isWhole = false
    switch fault {
    case .error(let error)?: throw error
    case .status(let status)?:
      return TransportReply(status: status, received: 0, failure: Array(#"{"code":1,"message":"no"}"#.utf8))
    case .body(let bytes)?: (body, isWhole) = (bytes, true)
    case nil: body = answer(request.url)
    }
    guard let body else {
      return TransportReply(status: 404, received: 0, failure: Array(#"{"code":404,"message":"none"}"#.utf8))
    }
    let (tear, knowsRanges, slice, own) = state.withLock { state -> (Int?, Bool, Int?, String?) in
      guard request.url.contains(".xpk") || request.url.contains(state.torn) else {
        return (nil, true, nil, nil)
      }
      state.ranges.append(request)
      let tear = state.tears.isEmpty ? nil : state.tears.removeFirst()
      return (tear, state.knowsRanges, state.slice, state.tag)
    }
    let tag: String? = own.map { $0.isEmpty ? nil : $0 } ?? "\"\(MD5.of(body).hex)\""
    var rest = body[...]
    var head = TransportHead(status: 200, total: Int64(body.count), entityTag: tag)
    if knowsRanges, !isWhole, request.start > 0, request.sentTag == nil || request.sentTag == tag {
      guard request.start < body.count else { return TransportReply(status: 416, received: 0) }
      rest = rest.dropFirst(Int(request.start))
      head = TransportHead(
        status: 206, start: request.start, total: Int64(body.count), entityTag: tag)
    }
    if let slice {
      rest = rest.prefix(slice)
      head = TransportHead(status: 206, start: request.start, total: Int64(body.count), entityTag: tag)
    }
    head.serverTime = state.withLock { $0.time }?()
    if !rest.isEmpty, !begin(head) { throw TransportError(.stopped, "stopped") }
    var count: Int64 = 0
    while !rest.isEmpty {
      if let tear, count >= tear { throw TransportError(.broken, "torn") }
      let bytes = Array(rest.prefix(tear.map { min($0 - Int(count), piece) } ?? piece))
      rest = rest.dropFirst(bytes.count)
      count += Int64(bytes.count)
      if count > request.limit { throw TransportError(.tooLong, "longer than \(request.limit)") }
      state.withLock { $0.eachPiece }?(request.url)
      guard receive(bytes.span.bytes) else { throw TransportError(.stopped, "stopped") }
    }
    return TransportReply(status: head.status, received: count)
  }

  private func answer(_ url: String) -> [UInt8]? {
    if url.hasPrefix("\(Self.server)/configure.json?") { return origin(query: url) }
    if url.hasPrefix("\(Self.mirror)/xcache/shop/"),
      let body = mirror(String(url.dropFirst("\(Self.mirror)/xcache/shop/".count)))
    {
      return body
    }
    return state.withLock { $0.downloads[url] }
  }

  private func origin(query url: String) -> [UInt8]? {
    var items: [String: String] = [:]
    for item in url.split(separator: "?")[1].split(separator: "&") {
      let pair = item.split(separator: "=")
      items[String(pair[0])] = String(pair[1])
    }
    guard items["app"] == "shop", items["channel"] == "online" else { return nil }
    return state.withLock { state in
      var state = state
      if let candidate = state.candidate {
        state.extra += candidate.rule
        if items["candidate"] == "1" { state.newest = candidate.version }
      }
      let held = items["version"].flatMap { Int64($0) }.flatMap { state.history[$0] == nil ? nil : $0 }
      let isKnown = held.map { Self.digest(state.history[$0]).hex == items["digest"] } ?? false
      if state.newest == 0 || (isKnown && held == state.newest) { return Self.nothing(state) }
      guard let held, isKnown, held < state.newest, items["patch"] == "1" else { return Self.whole(state) }
      if items["pack"] == "1", let answer = state.packs[held], answer.version.number == state.newest {
        return Documents.pack(answer)
      }
      return Self.patch(from: held, state)
    }
  }

  private func mirror(_ path: String) -> [UInt8]? {
    state.withLock { state in
      var state = state
      if let candidate = state.candidate {
        state.extra += candidate.rule
        if path.hasSuffix("\(candidate.version).json") { state.newest = candidate.version }
        if path == "configure/\(candidate.version).json" { return Self.whole(state) }
      }
      if path == "version.json" { return Self.nothing(state) }
      if path == "configure.json" { return Self.whole(state) }
      for (base, answer) in state.packs where path == "update/\(base)-\(state.newest).json" {
        return Documents.pack(answer)
      }
      for base in state.history.keys where path == "patch/\(base)-\(state.newest).json" {
        return Self.patch(from: base, state)
      }
      return nil
    }
  }

  private static func digest(_ map: JSONObject?) -> SHA256 {
    SHA256.of(JSONValue.object(map ?? JSONObject()).canonical)
  }

  private static func nothing(_ state: State) -> [UInt8] {
    Array(#"{"code":200,"data":{"update":false,"version":"\#(state.newest)"\#(state.extra)}}"#.utf8)
  }

  private static func whole(_ state: State) -> [UInt8] {
    let map = JSONValue.object(state.history[state.newest] ?? JSONObject())
    return Array(
      #"{"code":200,"data":{"digest":"\#(SHA256.of(map.canonical).hex)","resourcemap":"#.utf8)
      + map.canonical + Array(#","update":true,"version":"\#(state.newest)"\#(state.extra)}}"#.utf8)
  }

  private static func patch(from base: Int64, _ state: State) -> [UInt8] {
    let old = JSONValue.object(state.history[base] ?? JSONObject())
    let new = JSONValue.object(state.history[state.newest] ?? JSONObject())
    let head =
      #"{"code":200,"data":{"base":"\#(base)","deltas":\#(String(decoding: DeltaOffer.render(state.deltas), as: UTF8.self)),"digest":"\#(SHA256.of(new.canonical).hex)","#
    return Array(#"\#(head)"patch":"#.utf8) + MergePatch.make(from: old, to: new).canonical
      + Array(#","update":true,"version":"\#(state.newest)"\#(state.extra)}}"#.utf8)
  }
}

extension TransportRequest {
  /// The tag of the `If-Range` that is sent.
  package var sentTag: String? { headers["If-Range"] }
}
