import HTTP
import System

/// Passes data between a pool's thread, which never blocks, and the requesting thread, which may: the response in one
/// direction, a streamed body in the other.
final class HandOver: Sendable {
  enum Step {
    case head(HTTPHead)
    case bytes([UInt8])
    /// Bytes of the request's body are needed, from this offset on.
    case wants(offset: Int64)
    /// The transfer ended with this code of libcurl.
    case end(UInt32)
    /// The file's bytes can't be read back.
    case lost
  }

  private struct State {
    var head: HTTPHead?
    var pieces: [[UInt8]] = []
    var size = 0
    var spool: SpoolFile?
    var wanted: Int64?
    /// The offset from which bytes of the body are being read.
    var asked: Int64?
    var given: (offset: Int64, bytes: ArraySlice<UInt8>)?
    /// Whether the transfer is paused because there was no room.
    var isPaused = false
    var end: UInt32?
    var isReady = false
  }

  private let state = Monitor(State())
  private let ready: @Sendable (String) -> Void

  /// The most bytes that wait for the reader in memory; beyond that the transfer pauses, or the rest goes to a file.
  private static let room = 256 << 10
  /// The most bytes in the file; beyond that the transfer pauses after all.
  private let spoolLimit: Int64

  /// - Parameters:
  ///   - spoolLimit: the most bytes that may wait in a file.
  ///   - ready: called with the connection that the request is about to go out on.
  init(spoolLimit: Int64 = 512 << 20, ready: @escaping @Sendable (String) -> Void) {
    self.spoolLimit = spoolLimit
    self.ready = ready
  }

  // MARK: - On the pool's thread

  func isReady(on line: String) {
    state.withLock { $0.isReady = true }
    ready(line)
  }

  /// Whether the connection was ready.
  var isReady: Bool { state.withLock { $0.isReady } }

  func take(_ head: HTTPHead) { state.broadcasting { $0.head = head } }

  /// Adds bytes of the response body; returns false if there is no room for them until `next` says so. `spools` says
  /// whether they go to a file instead of pausing the transfer.
  func take(_ bytes: UnsafeRawBufferPointer, spools: Bool) -> Bool {
    state.broadcasting { state in
      if state.spool == nil, state.size < Self.room {
        Self.append(bytes, to: &state.pieces)
        state.size += bytes.count
        return true
      }
      if spools {
        state.spool = state.spool ?? SpoolFile(capacity: spoolLimit)
        if let spool = state.spool, spool.append(bytes) { return true }
        if state.spool?.count == 0 { state.spool = nil }
      }
      state.isPaused = true
      return false
    }
  }

  /// Adds bytes of the response body in memory; returns false if more than `limit` would wait there.
  func take(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) -> Bool {
    state.broadcasting { state in
      guard state.size + bytes.count <= limit else { return false }
      Self.append(bytes, to: &state.pieces)
      state.size += bytes.count
      return true
    }
  }

  /// Merges small pieces.
  private static func append(_ bytes: UnsafeRawBufferPointer, to pieces: inout [[UInt8]]) {
    guard let last = pieces.indices.last, pieces[last].count + bytes.count <= piece else {
      return pieces.append(Array(bytes))
    }
    pieces[last].append(contentsOf: bytes)
  }

  private static let piece = 64 << 10

  /// Fills `room` with the body from `offset` on; returns 0 if none of it is here yet.
  func read(at offset: Int64, into room: UnsafeMutableRawBufferPointer) -> Int {
    state.broadcasting { state in
      guard let given = state.given, given.offset == offset, !given.bytes.isEmpty else {
        state.given = nil
        // A transfer that resumes because of the response asks again for what is on its way.
        state.wanted = state.asked == offset ? nil : offset
        return 0
      }
      let piece = given.bytes.prefix(room.count)
      room.copyBytes(from: piece)
      state.given = (offset + Int64(piece.count), given.bytes.dropFirst(piece.count))
      return piece.count
    }
  }

  func end(_ code: UInt32) { state.broadcasting { $0.end = code } }

  // MARK: - On the thread that asked

  /// Returns the next step, and whether to resume the transfer; nil if nothing comes within `duration`.
  func next(within duration: Duration) -> (step: Step, shouldContinue: Bool)? {
    state.waiting(for: duration) { state in
      guard let step = Self.take(from: &state) else { return nil }
      // Resume only when half of the room is free, so that it is worthwhile.
      let hasRoom = state.spool.map { $0.count <= spoolLimit / 2 } ?? (state.size <= Self.room / 2)
      let shouldContinue = state.isPaused && hasRoom
      if shouldContinue { state.isPaused = false }
      return (step, shouldContinue)
    }
  }

  private static func take(from state: inout State) -> Step? {
    if let offset = state.wanted {
      state.wanted = nil
      state.asked = offset
      return .wants(offset: offset)
    }
    if let head = state.head {
      state.head = nil
      return .head(head)
    }
    if let piece = state.pieces.first {
      state.pieces.removeFirst()
      state.size -= piece.count
      return .bytes(piece)
    }
    if let spool = state.spool {
      guard let piece = spool.next(upTo: room) else { return .lost }
      if spool.count == 0 { state.spool = nil }
      return .bytes(piece)
    }
    return state.end.map { .end($0) }
  }

  /// Hands over bytes of the body; the caller then has to resume the transfer.
  func give(_ bytes: ArraySlice<UInt8>, at offset: Int64) {
    state.withLock { state in
      state.given = (offset, bytes)
      state.asked = nil
    }
  }

  /// Waits until the transfer is over, discarding what still comes.
  func drain() -> UInt32 { state.waiting { $0.end } }
}
