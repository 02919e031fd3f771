/// A request's body: passed to a receiver piece by piece, or discarded if nobody wants it.
extension HTTPConnection {
  /// Discards the current request's body, which nobody asked for, or closes the connection because of it.
  mutating func discardBody() {
    guard let framing = BodyFraming(bodyLength) else { return }
    bodyLength = .none
    if expectsContinue || closesAfterAnswers || framing.knownRemaining ?? 0 > rules.discardedBody {
      closeAfterAnswers()
    } else {
      body = IncomingBody(framing, limit: rules.discardedBody, isWanted: false)
    }
  }

  /// Passes the current request's body to a receiver; returns false, without doing so, if it is longer than `limit`.
  package mutating func receiveBody(limit: UInt64, _ now: UInt64) -> Bool {
    let framing = BodyFraming(bodyLength) ?? .length(remaining: 0)
    if let length = framing.knownRemaining, length > limit { return false }
    var body = IncomingBody(framing, limit: limit, isWanted: true)
    if expectsContinue, framing.knownRemaining != 0 { body.expectation = .unasked }
    self.body = body
    bodyLength = .none
    waitForBody(now)
    return true
  }

  /// The size of the memory that the receiver's next piece needs.
  package var pieceSize: Int { body?.pieceSize ?? 0 }

  /// Records that a read brought `count` bytes of the body into the receiver's memory. `filled` says that the
  /// read filled all the room, so that more may be left.
  package mutating func receivedBody(
    _ count: Int, filled: Bool, _ now: UInt64
  ) {
    received(count, filled: filled, now)
    body?.stored(count)
    body?.framing.skip(count)
  }

  /// Records that the receiver has processed its piece and wants more.
  package mutating func delivered(_ now: UInt64) {
    body?.isBusy = false
    if phase != .body { waitForBody(now) }
  }

  private mutating func waitForBody(_ now: UInt64) {
    phase = .body
    deadline = now &+ rules.timeouts.body
  }

  /// Returns the next action for a body that is wanted.
  mutating func nextOfBody(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    guard let step = body?.next(&workspace.input) else { return .close }
    switch step {
    case .action(let action):
      // The receiver is being made, or has the last piece: the client isn't to blame for the time that takes.
      if action == .deliver(last: true) || body?.expectation == .asked { wait() }
      return action
    case .full:
      wait()
      return .wait(until: .max)
    case .more(let size):
      if canRead { return size.map { .readBody(upTo: $0) } ?? .read }
      if inputHasEnded { return .close }
      return body?.deliverable() == true ? .deliver(last: false) : .wait(until: deadline)
    }
  }

  /// Discards an unwanted body. One that is too long or malformed ends the connection, after its answer.
  mutating func discard(_ workspace: inout ConnectionWorkspace, _ now: UInt64) -> Action {
    switch body?.discard(&workspace.input) {
    case .more?:
      if canRead { return .read }
      return inputHasEnded ? .close : .wait(until: deadline)
    case .end?, nil: body = nil
    case .tooLong?: closeAfterAnswers()
    }
    phase = .idle
    deadline = now &+ rules.timeouts.idle
    return next(&workspace, now)
  }
}

/// A request's body while it arrives: its framing, its progress and its receiver.
struct IncomingBody: Sendable {
  /// Whether the client must still be told to send the body (RFC 9110 §10.1.1).
  enum Expectation: Sendable {
    /// It sends without being told to.
    case none
    /// The receiver, which may refuse the body, hasn't been requested yet.
    case unasked
    /// The receiver is being made.
    case asked
  }

  /// The next step for a body that is wanted.
  enum Step: Equatable {
    case action(HTTPConnection.Action)
    /// The next piece is full, and the receiver still has the previous one.
    case full
    /// All that has arrived is stored. If not nil, this many bytes can be read straight into the piece, without parsing framing.
    case more(Int?)
  }

  var framing: BodyFraming
  /// Whether the body goes to a receiver.
  let isWanted: Bool
  /// The maximum number of bytes.
  private let limit: UInt64
  private var received: UInt64 = 0
  /// The size of the piece being filled.
  private(set) var pieceSize = 0
  /// The number of bytes in that piece.
  private var stored = 0
  /// Whether the receiver has a piece.
  var isBusy = false
  /// Whether the whole body has arrived.
  private(set) var isComplete = false
  var expectation = Expectation.none

  init(_ framing: BodyFraming, limit: UInt64, isWanted: Bool) {
    self.framing = framing
    self.limit = limit
    self.isWanted = isWanted
    startPiece()
  }

  /// A small body gets a small piece, a large one pieces that keep a worker busy for a while.
  private mutating func startPiece() {
    stored = 0
    pieceSize = Int(min(max(framing.knownRemaining ?? 65_536, 1), 262_144))
  }

  /// Counts bytes that were stored in the piece.
  mutating func stored(_ count: Int) {
    stored &+= count
    received &+= UInt64(count)
  }

  mutating func next(_ input: inout InputBuffer) -> Step {
    switch expectation {
    case .none: break
    case .unasked:
      expectation = .asked
      isBusy = true
      return .action(.deliver(last: false))
    case .asked:
      expectation = .none
      return .action(.sendContinue)
    }
    if framing.knownRemaining == 0 { isComplete = true }
    if !isComplete, stored < pieceSize, let action = store(&input) { return .action(action) }
    if !isComplete, stored < pieceSize { return .more(framing.knownRemaining.map { space(upTo: $0) }) }
    guard !isBusy else { return .full }
    isBusy = true
    startPiece()
    return .action(.deliver(last: isComplete))
  }

  private func space(upTo remaining: UInt64) -> Int { Int(min(UInt64(pieceSize &- stored), remaining)) }

  /// Takes body bytes from the input, as many as the piece has room for.
  private mutating func store(_ input: inout InputBuffer) -> HTTPConnection.Action? {
    // Framing takes no room in the piece, so the loop goes on behind it.
    while !input.isEmpty {
      var used = 0
      let step = framing.next(input.bytes.extracting(first: pieceSize &- stored), from: &used)
      let range = input.remove(used)
      switch step {
      case .data(let part):
        stored(part.count)
        guard received <= limit else { return .abandonBody(.contentTooLarge) }
        return .store(range.upperBound &- part.count..<range.upperBound)
      case .more: continue
      case .end:
        isComplete = true
        return nil
      case .malformed: return .abandonBody(.badRequest)
      }
    }
    return nil
  }

  /// Whether a piece that isn't full can go to the receiver; if so, it counts as delivered.
  mutating func deliverable() -> Bool {
    guard stored > 0, !isBusy else { return false }
    isBusy = true
    startPiece()
    return true
  }

  enum Discarded {
    case more, end, tooLong
  }

  /// Drops the body's part of the input.
  mutating func discard(_ input: inout InputBuffer) -> Discarded {
    while true {
      var used = 0
      let step = framing.next(input.bytes, from: &used)
      _ = input.remove(used)
      switch step {
      case .data(let part): received &+= UInt64(part.count)
      case .more: return received > limit ? .tooLong : .more
      case .end: return .end
      case .malformed: return .tooLong
      }
    }
  }
}
