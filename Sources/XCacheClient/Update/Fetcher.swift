import System

/// Fetches listed files: streams them to the disk while hashing, and keeps them only if the digests match.
struct Fetcher: Sendable {
  let transport: any Transport
  let folder: CacheFolder
  /// The milliseconds to wait before the second attempt, the third, and so on.
  let pauses: [UInt32]
  /// Whether a page waits, which can also use the network directly: a timeout is then not retried.
  var isForPage = false
  /// Waits for the given number of milliseconds.
  var pause: @Sendable (UInt32) -> Void = { Clock.sleep(for: .milliseconds($0)) }
  /// Deltas to try before the plain body.
  var deltas: DeltaTable?
  /// Called for each file that can't be fetched.
  var failed: @Sendable (HeldEntry, ClientError) -> Void = { _, _ in }

  /// Partly received files of at least this size are kept when the connection breaks or the app ends.
  private static let large: Int64 = 1 << 20

  /// Fetches an entry's file to `target`, and returns how many bytes were received over the network.
  ///
  /// - Parameters:
  ///   - entry: the entry to fetch.
  ///   - target: the path of the finished file.
  ///   - arrived: called with the number of bytes as they arrive; false cancels the fetch.
  /// - Throws: `noAnswer`, `status`, `wrongBytes`, `tooLong`, `file`; there is then no file at `target`.
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
        // An origin or a cache stores a coded body separately, so it may be damaged while the plain one is intact.
        if error.mayBeCoding, !isUncoded {
          isUncoded = true
          continue
        }
        guard error.isTransient, !(isForPage && error.isTimeout), let pause = pauses.popFirst() else {
          failed(entry, error)
          throw error
        }
        // A body that is cut short each time may be a damaged coding, too. The network is the likelier cause, so only
        // the last attempt asks for the plain one.
        if pauses.isEmpty, error.isBroken { isUncoded = true }
        self.pause(pause)
      }
    }
  }

  /// Makes the file from a delta; `deltas` counts the bytes received for it.
  private func make(_ entry: HeldEntry, to target: String, of deltas: DeltaTable) throws(ClientError) -> Bool
  {
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
    let shouldContinue = !isForPage && entry.size >= Self.large
    let part = shouldContinue ? folder.half(entry.sha256) : folder.incoming()
    do {
      let reply = try receive(entry, into: part, isUncoded: isUncoded, arrived)
      try folder.move(part, to: target)
      return reply.received
    } catch {
      if !shouldContinue || !error.leavesBytes { try folder.remove(part) }
      throw error
    }
  }

  private func receive(
    _ entry: HeldEntry, into part: String, isUncoded: Bool, _ arrived: (Int) -> Bool
  ) throws(ClientError) -> TransportReply {
    var hasher = FileHasher()
    var start: Int64 = 0
    let file = try onDisk(part) { () throws(SystemError) in
      let file = try Kernel.open(part, [.readWrite, .create, .append, .noFollow])
      try CacheFolder.read(file) { bytes throws(SystemError) in
        hasher.update(bytes)
        start += Int64(bytes.byteCount)
      }
      return file
    }
    // The bytes already here are of the plain body, so the rest must be, too.
    var ask = TransportRequest(entry.download, limit: entry.size, isUncoded: isUncoded || start > 0)
    if start >= entry.size {
      try restart(file, part)
      start = 0
      hasher = FileHasher()
    }
    ask.start = start
    ask.entityTag = start > 0 ? "\"\(entry.bytes.md5.hex)\"" : nil
    var failure: SystemError?
    let reply: TransportReply
    do throws(TransportError) {
      reply = try transport.get(ask) { head in
        if head.start == 0, start > 0 {
          // The file has changed, or the server doesn't support ranges.
          do throws(ClientError) { try restart(file, part) } catch { return false }
          hasher = FileHasher()
        } else if start > 0 {
          return arrived(Int(clamping: start))
        }
        return true
      } receive: { bytes in
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
        ? .tooLong(url: entry.url.text, download: entry.download, size: entry.size)
        : .noAnswer(url: entry.download, error)
    }
    guard reply.status == 200 || reply.status == 206 && start > 0 else {
      throw .status(url: entry.download, code: reply.status, message: nil)
    }
    try check(hasher.finish(), of: entry)
    return reply
  }

  private func restart(_ file: borrowing Descriptor, _ path: String) throws(ClientError) {
    let result = Result { () throws(SystemError) in try Kernel.truncate(file, to: 0) }
    try onDisk(path) { () throws(SystemError) in try result.get() }
  }

  private func check(_ digest: FileDigest, of entry: HeldEntry) throws(ClientError) {
    guard digest != entry.bytes else { return }
    throw .wrongBytes(
      url: entry.url.text, download: entry.download, expected: .init(entry.bytes),
      received: .init(digest))
  }
}

extension ClientError {
  /// Whether a damaged coding of the right bytes may be the cause.
  fileprivate var mayBeCoding: Bool {
    switch self {
    case .wrongBytes, .tooLong: true
    case .noAnswer(_, let error): error.kind == .other
    // "Range Not Satisfiable": the bytes that were kept don't fit the server's file.
    case .status(_, 416, _): true
    default: false
    }
  }

  /// Whether the bytes received so far can be kept for resuming.
  fileprivate var leavesBytes: Bool {
    guard case .noAnswer(_, let error) = self else { return false }
    return error.kind != .tooLong && error.kind != .other
  }

  fileprivate var isTimeout: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .timedOut } else { false }
  }

  /// Whether the same request will keep failing until something is published or repaired.
  var isLasting: Bool {
    switch self {
    case .status, .wrongBytes, .tooLong: !isTransient
    default: false
    }
  }

  /// Whether the app, or the conditions, stopped it.
  package var isStop: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .stopped } else { false }
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
  package var isDiskFull: Bool {
    if case .file(_, _, let code, _) = self { Errno(rawValue: code).isDiskFull } else { false }
  }
}
