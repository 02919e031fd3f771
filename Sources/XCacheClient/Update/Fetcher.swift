import System

/// Fetches listed files: streamed to the disk while they are hashed, kept only when every digest is right.
struct Fetcher: Sendable {
  let transport: any Transport
  let folder: CacheFolder
  /// Milliseconds to wait before the second attempt, the third, and so on.
  let pauses: [UInt32]
  /// Deltas to try before the plain body.
  var deltas: DeltaBook?
  /// Told of each file that can't be had.
  var failed: @Sendable (HeldEntry, ClientError) -> Void = { _, _ in }

  /// Fetches an entry's bytes to `target` and gives how many came over the wire.
  ///
  /// - Parameter arrived: told of bytes as they come; false ends the fetch.
  /// - Throws: `noAnswer`, `status`, `wrongBytes`, `tooLong`, `file`; then there is nothing at `target`.
  func fetch(
    _ entry: HeldEntry, to target: String, arrived: (Int) -> Bool = { _ in true }
  ) throws(ClientError) -> Int64 {
    if let deltas, try make(entry, to: target, of: deltas) {
      _ = arrived(Int(clamping: entry.size))
      return 0
    }
    var pauses = pauses[...]
    var isUncoded = false
    while true {
      do {
        return try attempt(entry, to: target, isUncoded: isUncoded, arrived)
      } catch {
        // A coded body is a file of its own at the origin or a cache, which may be damaged where the plain one is whole.
        if error.mayBeCoding, !isUncoded {
          isUncoded = true
          continue
        }
        guard error.isTransient, let pause = pauses.popFirst() else {
          failed(entry, error)
          throw error
        }
        // So may one that ends too early, each time. The network is the likelier cause, so the last attempt asks.
        if pauses.isEmpty, error.isBroken { isUncoded = true }
        Clock.sleep(for: .milliseconds(pause))
      }
    }
  }

  /// Makes the bytes of a delta; what went over the wire for it is in the book's counts.
  private func make(_ entry: HeldEntry, to target: String, of deltas: DeltaBook) throws(ClientError) -> Bool {
    let part = folder.incoming()
    guard deltas.make(entry, into: part, by: transport) else {
      try folder.remove(part)
      return false
    }
    try folder.move(part, to: target)
    return true
  }

  private func attempt(
    _ entry: HeldEntry, to target: String, isUncoded: Bool, _ arrived: (Int) -> Bool
  ) throws(ClientError) -> Int64 {
    let part = folder.incoming()
    do {
      let reply = try receive(entry, into: part, isUncoded: isUncoded, arrived)
      try folder.move(part, to: target)
      return reply.received
    } catch {
      try folder.remove(part)
      throw error
    }
  }

  private func receive(
    _ entry: HeldEntry, into part: String, isUncoded: Bool, _ arrived: (Int) -> Bool
  ) throws(ClientError) -> TransportReply {
    let file = try onDisk(part) { () throws(SystemError) in
      try Kernel.open(part, [.write, .create, .exclusive, .noFollow])
    }
    var hasher = FileHasher()
    var failure: SystemError?
    let reply: TransportReply
    do throws(TransportError) {
      let ask = TransportRequest(entry.entry.download, limit: entry.size, isUncoded: isUncoded)
      reply = try transport.get(ask) { bytes in
        hasher.update(bytes)
        do throws(SystemError) {
          try Kernel.write(bytes, to: file, path: part)
          return arrived(bytes.byteCount)
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      if let failure { throw ClientError(failure, path: part) }
      throw error.kind == .tooLong
        ? .tooLong(url: entry.url.text, download: entry.entry.download, size: entry.size)
        : .noAnswer(url: entry.entry.download, error)
    }
    guard reply.status == 200 else {
      throw .status(url: entry.entry.download, code: reply.status, message: nil)
    }
    try check(hasher.finish(), of: entry)
    return reply
  }

  private func check(_ digest: FileDigest, of entry: HeldEntry) throws(ClientError) {
    guard digest != entry.bytes else { return }
    throw .wrongBytes(
      url: entry.url.text, download: entry.entry.download, expected: .init(entry.bytes),
      received: .init(digest))
  }
}

extension ClientError {
  /// Whether what came may have been a damaged coding of the right bytes.
  fileprivate var mayBeCoding: Bool {
    switch self {
    case .wrongBytes, .tooLong: true
    case .noAnswer(_, let error): error.kind == .other
    default: false
    }
  }

  fileprivate var isBroken: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .broken } else { false }
  }

  /// Whether the same request may well succeed a moment later.
  fileprivate var isTransient: Bool {
    switch self {
    case .noAnswer(_, let error):
      error.kind == .timedOut || error.kind == .broken || error.kind == .unreachable
    case .status(_, let code, _): code >= 500 || code == 408 || code == 429
    default: false
    }
  }

  /// Whether the disk has no room left.
  var isDiskFull: Bool {
    if case .file(_, _, let code, _) = self { Errno(rawValue: code).isDiskFull } else { false }
  }
}
