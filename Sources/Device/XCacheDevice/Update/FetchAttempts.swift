/// Decides whether a file that couldn't be fetched is requested again, and how.
struct FetchAttempts {
  /// Whether the next attempt asks for the bytes without a content coding.
  private(set) var isUncoded = false

  private let allPauses: [UInt32]
  private var pauses: ArraySlice<UInt32>
  private let isForPage: Bool
  /// The bytes that the last attempt began with, and the most that any began with.
  private var received: Int64
  private var maxReceived: Int64
  /// Whether what was kept has been dropped once.
  private var hasRestarted = false
  /// Whether what was kept has outlived an answer that didn't fit the range, and whether the last one was that.
  private var hasKeptPart = false
  private var isPartKept = false

  /// - Parameters:
  ///   - pauses: the milliseconds before the second attempt, the third, and so on.
  ///   - isForPage: whether a page waits, which can also use the network directly.
  ///   - received: the bytes that earlier updates kept.
  init(_ pauses: [UInt32], isForPage: Bool, received: Int64) {
    (allPauses, self.pauses, self.isForPage) = (pauses, pauses[...], isForPage)
    (self.received, maxReceived) = (received, received)
  }

  /// Whether what was kept stays although the answer didn't fit the range: the first time, it may have come from a portal
  /// or from one of several servers.
  mutating func keepsPart(after error: DeviceError) -> Bool {
    guard received > 0, !hasKeptPart, case .noAnswer(_, let failure) = error, failure.kind == .other else {
      return false
    }
    (hasKeptPart, isPartKept) = (true, true)
    return true
  }

  /// Returns the milliseconds to wait before the next attempt; nil if there is none.
  /// - Parameters:
  ///   - error: why the last attempt failed.
  ///   - size: the bytes that it left, with those that it began with.
  mutating func next(after error: DeviceError, received size: Int64) -> UInt32? {
    let hadBytes = received > 0
    received = size
    if isPartKept {
      isPartKept = false
      return pauses.first ?? 0
    }
    // An origin or a cache stores a coded body separately, so it may be damaged while the plain one is intact. What was
    // kept of earlier attempts may be damaged, too, or be another file's.
    if error.mayBeCoding, !isUncoded || hadBytes && !hasRestarted {
      isUncoded = true
      hasRestarted = hasRestarted || hadBytes
      return 0
    }
    // A line that breaks every few megabytes brings a large file in the end.
    if size - maxReceived >= PartFile.large { pauses = allPauses[...] }
    maxReceived = max(maxReceived, size)
    guard error.isTransient, !(isForPage && error.isTimeout), let pause = pauses.popFirst() else {
      return nil
    }
    // A body that is cut short each time may be a damaged coding, too. The network is the likelier cause, so only the last
    // attempt asks for the plain one.
    if pauses.isEmpty, error.isBroken { isUncoded = true }
    return pause
  }
}

extension DeviceError {
  /// Whether a damaged coding of the right bytes, or bytes that were kept, may be the cause.
  fileprivate var mayBeCoding: Bool {
    switch self {
    case .wrongBytes, .tooLong: true
    case .noAnswer(_, let error): error.kind == .other
    // "Range Not Satisfiable": the bytes that were kept don't fit the server's file.
    case .status(_, 416, _): true
    default: false
    }
  }

  fileprivate var isTimeout: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .timedOut } else { false }
  }

  fileprivate var isBroken: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .broken } else { false }
  }

  /// Whether the same request may well succeed a moment later.
  var isTransient: Bool {
    switch self {
    case .noAnswer(_, let error):
      error.kind == .timedOut || error.kind == .broken || error.kind == .unreachable
    case .status(_, let code, _): code >= 500 || code == 408 || code == 429
    default: false
    }
  }
}
