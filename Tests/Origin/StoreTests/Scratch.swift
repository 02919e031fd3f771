import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// A data folder of a test's own, removed with it, and short words for what tests do with a store.
extension Scratch {
  /// In memory where there is such a folder: no test here needs a real disk.
  convenience init() {
    do {
      try self.init(in: Scratch.memory)
    } catch {
      fatalError("no temporary folder: \(error)")
    }
  }

  var data: String { path + "/data" }

  func open(_ options: Store.Options = Store.Options()) throws -> Store {
    // Hundreds of these folders stand side by side in memory.
    var options = options
    options.keepsReserve = false
    return try Store(path: data, options: options)
  }
}

/// Bytes of a test's file, and what a publisher says of them.
struct Sample: Hashable {
  let bytes: [UInt8]
  let type: String
  let headers: EntryHeaders
  let fallbacks: PageFallbacks
  var isLazy = false

  init(
    _ text: String, type: String = "text/plain", headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), isLazy: Bool = false
  ) {
    bytes = Array(text.utf8)
    self.type = type
    self.headers = headers
    self.fallbacks = fallbacks
    self.isLazy = isLazy
  }

  init(large bytes: [UInt8]) {
    self.bytes = bytes
    type = "application/octet-stream"
    headers = EntryHeaders()
    fallbacks = PageFallbacks()
  }

  var claim: BlobClaim { BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count)) }

  var content: ResourceContent {
    get throws {
      ResourceContent(
        md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count),
        ctype: try #require(ContentType(type)), headers: headers, fallbacks: fallbacks, isLazy: isLazy)
    }
  }
}

extension Store {
  func send(_ samples: some Sequence<Sample>) throws {
    for sample in samples { _ = try receive(sample.bytes.span.bytes, sample.claim) }
  }

  /// Publishes into app `shop`, channel `online`, sending bytes first; URLs are written as paths.
  @discardableResult
  func publish(
    _ bundle: String = "main", base: Int64, set: [String: Sample] = [:], remove: [String] = [],
    ifVersion: Int64? = nil, dryRun: Bool = false, sends: Bool = true
  ) throws -> ReleaseOutcome {
    if sends { try send(set.values) }
    return try commit(
      request(
        [try change(bundle, base: base, set: set, remove: remove)], ifVersion: ifVersion, dryRun: dryRun))
  }

  func change(_ bundle: String, base: Int64, set: [String: Sample] = [:], remove: [String] = []) throws
    -> BundleChange
  {
    var contents: [ResourceURL: ResourceContent] = [:]
    for (path, sample) in set { contents[try url(path)] = try sample.content }
    return BundleChange(
      try BundleName(bundle),
      .update(base: ManifestVersion(base), set: contents, remove: Set(try remove.map(url))))
  }

  func request(_ changes: [BundleChange], ifVersion: Int64? = nil, dryRun: Bool = false) throws
    -> ReleaseInput
  {
    ReleaseInput(
      app: try AppName("shop"), channel: .online, author: "ci", message: "a message", bundles: changes,
      ifVersion: ifVersion.map { ManifestVersion($0) }, dryRun: dryRun,
      publicURLForNew: try BaseURL("https://cdn.example.com/x"))
  }

  func shop() throws -> ChannelInfo { try channel(try AppName("shop"), .online) }
}

func url(_ path: String) throws -> ResourceURL { try ResourceURL("https://m.example.com/" + path) }
