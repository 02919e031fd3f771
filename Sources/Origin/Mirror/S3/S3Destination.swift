import HTTP
import HTTPClient
import Manifests
import System

/// A mirror in a bucket of an S3-compatible store.
///
/// A PUT is atomic, so nothing is staged. Existing objects are listed once, on first use.
final class S3Destination: Destination {
  private let client: S3Client
  private let listsOnce: Bool
  private var settings: S3Settings { client.settings }
  private let lock: S3Lock
  /// The size of each object, in bytes.
  private let listed = Locked<[String: Int64]?>(nil)

  /// The number of objects sent at a time.
  private static let threads = 8
  /// The size above which objects are sent in parts.
  private static let wholeLimit: Int64 = 64 << 20
  /// Creates a destination. `listsOnce` is false for a long-lived one, which asks about each file individually.
  init(_ settings: S3Settings, listsOnce: Bool = true) {
    client = S3Client(settings)
    lock = S3Lock(client)
    self.listsOnce = listsOnce
  }

  var name: String { settings.name }

  func begin() throws(MirrorError) { try lock.take() }

  func end() { lock.free() }

  // MARK: - What is there

  private func inventory() throws(MirrorError) -> [String: Int64] {
    if let known = listed.withLock({ $0 }) { return known }
    let prefix = settings.prefix.isEmpty ? "" : settings.prefix + "/"
    var found: [String: Int64] = [:]
    for object in try client.list(prefix) {
      found[String(object.key.dropFirst(prefix.count))] = object.size
    }
    let inventory = found
    listed.withLock { $0 = inventory }
    return inventory
  }

  private func note(_ path: String, size: Int64?) {
    listed.withLock { $0?[path] = size }
  }

  func sizes(of paths: [String]) throws(MirrorError) -> [Int64?] {
    if !listsOnce { return try ask(for: paths) }
    let inventory = try inventory()
    return paths.map { inventory[$0] }
  }

  private func ask(for paths: [String]) throws(MirrorError) -> [Int64?] {
    let sizes = Locked([Int64?](repeating: nil, count: paths.count))
    try Parallel.forEach(paths.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
      let reply = try client.send("HEAD", settings.key(paths[index]))
      let size = reply.isSuccess ? reply.fields["content-length"].flatMap { Int64($0) } : nil
      sizes.withLock { $0[index] = size }
    }
    return sizes.withLock { $0 }
  }

  func files(at paths: [String]) throws(MirrorError) -> [MirrorIndex.File?] {
    let files = Locked([MirrorIndex.File?](repeating: nil, count: paths.count))
    let reader = S3Reader(client)
    try Parallel.forEach(paths.count, threads: Self.threads) { (index) throws(MirrorError) in
      let file = try reader.facts(paths[index])?.file
      files.withLock { $0[index] = file }
    }
    return files.withLock { $0 }
  }

  func read(_ path: String) throws(MirrorError) -> [UInt8]? { try S3Reader(client).read(path) }

  func list() throws(MirrorError) -> [String] {
    try inventory().keys.filter { path in
      ChannelName(space: path.prefix { $0 != "/" }) != nil && MirrorPath.isSafe(path)
    }
  }

  // MARK: - Writing

  private static func fields(_ head: FileHead) -> HTTPFields {
    var fields: HTTPFields = [("Content-Type", head.type), ("Cache-Control", head.cacheControl)]
    if let coding = head.coding { fields.add("Content-Encoding", coding) }
    return fields
  }

  func put(
    _ files: [Placement],
    _ completed: @escaping @Sendable (Placement, MirrorIndex.File) throws(MirrorError) -> Void
  ) throws(MirrorError) {
    let folder = try MirrorError.disk { () throws(SystemError) in try ScratchFolder("xcache-mirror") }
    try Parallel.forEach(files.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
      try lock.requireHeld()
      let file = files[index]
      let path = "\(folder.path)/\(index)"
      let checked = try file.unlessLost { () throws(MirrorError) in
        let local = try file.source(path)
        return (local, try CopyCheck.require(file, at: local.path))
      }
      // Also removes an incomplete file.
      defer { try? Kernel.remove(path) }
      guard let (local, found) = checked else { return }
      defer { if local.isTemporary { try? Kernel.remove(local.path) } }
      try send(file, local.path, found)
      note(file.path, size: found.size)
      try completed(file, found)
    }
  }

  private func send(_ file: Placement, _ path: String, _ found: MirrorIndex.File) throws(MirrorError) {
    let (key, fields) = (settings.key(file.path), Self.fields(file.head))
    if found.size > Self.wholeLimit {
      try client.putParts(path, size: found.size, as: key, fields)
    } else {
      let bytes = try S3Client.bytes(of: path, at: 0, count: Int(found.size))
      _ = try client.require("PUT", key, fields: fields, .init(body: .bytes(bytes), sha256: found.sha256.hex))
    }
  }

  func write(_ bytes: [UInt8], as path: String, _ head: FileHead) throws(MirrorError) {
    try lock.requireHeld()
    _ = try client.require("PUT", settings.key(path), fields: Self.fields(head), .bytes(bytes))
    note(path, size: Int64(bytes.count))
  }

  /// Does nothing: a PUT is visible at once.
  func show() throws(MirrorError) {}

  /// Does nothing: a PUT that was answered is durable.
  func sync() throws(MirrorError) {}

  func remove(_ paths: [String]) throws(MirrorError) {
    try lock.requireHeld()
    try Parallel.forEach(paths.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
      let reply = try client.send("DELETE", settings.key(paths[index]))
      guard reply.isSuccess || reply.status == 404 else { throw client.refusal(paths[index], reply) }
      note(paths[index], size: nil)
    }
  }
}

/// A mirror in a bucket, read with its keys.
package struct S3Reader: MirrorReader {
  private let client: S3Client

  package var name: String { client.settings.name }
  /// The mirror sets the objects' types itself.
  package var wrongType: Divergence.Severity? { .error }
  package var threads: Int { 8 }

  package init(_ settings: S3Settings) { client = S3Client(settings) }

  init(_ client: S3Client) { self.client = client }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    let reply = try client.send("GET", client.settings.key(path))
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return reply.body
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    let sum = Locked(Sum())
    let reply = try client.send("GET", client.settings.key(path)) { () throws(MirrorError) in
      sum.withLock { $0 = Sum() }
      return .stream(limit: .max) { bytes in sum.withLock { $0.update(bytes.bytes) } }
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return FileFacts(file: sum.withLock { $0.file }, type: reply.fields["content-type"])
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    let reply = try client.send("GET", client.settings.key(path)) { () throws(MirrorError) in
      let file = try WrittenFile(target)
      return .stream(limit: size) { try file.write($0) }
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw client.refusal(path, reply) }
    return LocalFile(path: target, isTemporary: true)
  }
}
