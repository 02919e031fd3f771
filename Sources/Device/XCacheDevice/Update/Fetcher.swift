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
  var onFailure: @Sendable (HeldEntry, DeviceError) -> Void = { _, _ in }

  /// Fetches an entry's file to `target`, and returns how many bytes were received over the network.
  ///
  /// - Parameters:
  ///   - entry: the entry to fetch.
  ///   - target: the path of the finished file.
  ///   - arrived: called with the number of bytes as they arrive; false cancels the fetch.
  /// - Throws: `noAnswer`, `status`, `wrongBytes`, `tooLong`, `file`; there is then no file at `target`.
  func fetch(
    _ entry: HeldEntry, to target: String, arrived: (Int) -> Bool = { _ in true }
  ) throws(DeviceError) -> Int64 {
    if let deltas, try make(entry, to: target, of: deltas) {
      _ = arrived(Int(clamping: entry.size))
      return 0
    }
    let isKept = !isForPage && entry.size >= PartFile.smallest
    let kept = isKept ? PartFile(of: entry.sha256, in: folder) : nil
    var attempts = FetchAttempts(pauses, isForPage: isForPage, received: kept?.size ?? 0)
    while true {
      let part = kept ?? PartFile(in: folder)
      do {
        return try attempt(entry, in: part, to: target, isUncoded: attempts.isUncoded, arrived)
      } catch {
        if !attempts.keepsPart(after: error) { try part.remove(after: error) }
        guard let pause = attempts.next(after: error, received: kept?.size ?? 0) else {
          onFailure(entry, error)
          throw error
        }
        if pause > 0 { self.pause(pause) }
      }
    }
  }

  /// Makes the file from a delta; `deltas` counts the bytes received for it.
  private func make(_ entry: HeldEntry, to target: String, of deltas: DeltaTable) throws(DeviceError) -> Bool
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
    _ entry: HeldEntry, in part: PartFile, to target: String, isUncoded: Bool, _ arrived: (Int) -> Bool
  ) throws(DeviceError) -> Int64 {
    let reply = try receive(entry, in: part, isUncoded: isUncoded, arrived)
    try part.finish(to: target)
    return reply.received
  }

  private func receive(
    _ entry: HeldEntry, in part: PartFile, isUncoded: Bool, _ arrived: (Int) -> Bool
  ) throws(DeviceError) -> TransportReply {
    var writer = try PartWriter.open(part, below: entry.size)
    let start = writer.position
    // The bytes already here are of the plain body, so the rest must be, too.
    var request = TransportRequest(entry.download, limit: entry.size, isUncoded: isUncoded || start > 0)
    request.start = start
    request.entityTag = start > 0 ? part.tag : nil
    var failure: DeviceError?
    let reply: TransportReply
    do throws(TransportError) {
      reply = try transport.get(request) { head in
        do throws(DeviceError) {
          try check(head, of: entry, after: writer.position)
          try writer.begin(head)
        } catch {
          failure = error
          return false
        }
        return writer.position == 0 || arrived(Int(clamping: writer.position))
      } receive: { bytes in
        do throws(DeviceError) {
          try writer.write(bytes)
        } catch {
          failure = error
          return false
        }
        return arrived(bytes.byteCount)
      }
    } catch {
      if let failure { throw failure }
      throw error.kind == .tooLong
        ? .tooLong(url: entry.url.text, download: entry.download, size: entry.size)
        : .noAnswer(url: entry.download, error)
    }
    guard reply.status == 200 || reply.status == 206 && start > 0 else {
      throw .status(url: entry.download, code: reply.status, message: nil)
    }
    if reply.status == 206, writer.position < entry.size {
      throw .noAnswer(url: entry.download, TransportError(.broken, "the server sent a part of the rest only"))
    }
    try check(try writer.finish(), of: entry)
    return reply
  }

  /// Refuses the answer of something else, such as a captive portal's page, before it replaces what is here.
  private func check(_ head: TransportHead, of entry: HeldEntry, after count: Int64) throws(DeviceError) {
    guard count > 0, head.status == 200 || head.status == 206, let total = head.total, total != entry.size
    else { return }
    let reason = "the answer is of \(total) bytes instead of \(entry.size)"
    throw .noAnswer(url: entry.download, TransportError(.broken, reason))
  }

  private func check(_ digest: FileDigest, of entry: HeldEntry) throws(DeviceError) {
    guard digest != entry.bytes else { return }
    throw .wrongBytes(
      url: entry.url.text, download: entry.download, expected: .init(entry.bytes),
      received: .init(digest))
  }
}

extension DeviceError {
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

  /// Whether the disk has no room left.
  package var isDiskFull: Bool {
    if case .file(_, _, let code, _) = self { Errno(rawValue: code).isDiskFull } else { false }
  }
}
