import Manifests
import System

/// What takes the bytes of a pack that is fetched.
protocol PackReceiver: AnyObject {
  /// The position in the pack of the next byte needed.
  var position: Int64 { get }
  /// The entity tag with which the download resumes.
  var entityTag: String? { get }
  /// Whether no more bytes are needed.
  var isAtEnd: Bool { get }
  /// The number of files in the pack; nil until its head has been read.
  var fileCount: Int? { get }
  /// The number of files that have been read.
  var recordsRead: Int { get }
  /// Takes the head of an answer, before its bytes.
  func take(_ head: TransportHead) throws(PackFailure)
  /// Takes the pack's bytes from `position` on.
  func push(_ bytes: RawSpan) throws(PackInstaller.Stop)
}

extension PackInstaller: PackReceiver {
  func take(_ head: TransportHead) throws(PackFailure) {
    if let known = entityTag, let tag = head.entityTag, known != tag {
      throw .unusable("it changed during the download")
    }
    entityTag = entityTag ?? head.entityTag
  }
}

/// Fetches a pack into its installer. It resumes after a broken connection, and skips over files that aren't needed.
struct PackDownload {
  private let transport: any Transport
  private let pack: PackOffer
  private let pauses: [UInt32]
  private let progress: (@Sendable (Progress) -> Void)?
  /// Called before each chunk; false abandons the pack.
  var shouldContinue: () -> Bool = { true }
  /// Waits for the given number of milliseconds.
  var pause: (UInt32) -> Void = { Clock.sleep(for: .milliseconds($0)) }
  /// The bytes received over the network.
  private(set) var received: Int64 = 0
  /// How often the download was resumed.
  private(set) var resumed = 0
  /// Why it ended early, if that says nothing of the pack: a later attempt may well succeed.
  private(set) var interruption: Interruption?

  /// What has ended a download.
  enum Interruption {
    /// There was no connection, or no data for too long.
    case network
    /// The server has broken off, or refused for now.
    case server
  }

  /// - Parameters:
  ///   - pack: the pack to fetch.
  ///   - transport: the transport to fetch it with.
  ///   - pauses: the milliseconds before each further attempt; an attempt that made good progress doesn't count.
  ///   - progress: called with the progress of the pack.
  init(
    _ pack: PackOffer, by transport: any Transport, pauses: [UInt32],
    progress: (@Sendable (Progress) -> Void)?
  ) {
    self.transport = transport
    self.pack = pack
    self.pauses = pauses
    self.progress = progress
  }

  /// The outcome of one request.
  private enum Outcome {
    case whole, skip
    /// Fewer bytes than requested, as announced by the response.
    case slice
    /// The connection or the server failed, which may be temporary.
    case broken(String, Interruption)
  }

  /// An attempt that received this many bytes doesn't count against the retries.
  static let much: Int64 = 64 << 10
  /// The number of partial responses that a small pack may arrive in.
  private static let fewSlices: Int64 = 16

  mutating func run(into installer: some PackReceiver) throws(PackFailure) {
    var pauses = pauses[...]
    var slices = Self.fewSlices + pack.size / Self.much
    while !installer.isAtEnd {
      let start = installer.position
      guard start < pack.size else { throw .unusable("it is longer than announced") }
      switch try exchange(into: installer) {
      case .skip: continue
      case .whole:
        guard installer.isAtEnd else { throw .unusable("it ended too early") }
      case .slice:
        slices -= 1
        guard installer.isAtEnd || installer.position > start && slices > 0 else {
          interruption = .server
          throw .unusable("the server sends too slowly")
        }
      case .broken(let reason, let cause):
        if installer.position - start >= Self.much { pauses = self.pauses[...] }
        guard let pause = pauses.popFirst() else {
          interruption = cause
          throw .unusable(reason)
        }
        self.pause(pause)
        if installer.position > 0 { resumed += 1 }
      }
    }
  }

  private mutating func exchange(into installer: some PackReceiver) throws(PackFailure) -> Outcome {
    var request = TransportRequest(pack.download, limit: pack.size, isUncoded: true)
    request.start = installer.position
    request.entityTag = installer.entityTag
    var stop: PackInstaller.Stop?
    var count: Int64 = 0
    // The bytes to skip of a response that begins at the file's first byte although a later one was requested.
    var passed: Int64 = 0
    let result = Result { () throws(TransportError) in
      try transport.get(request) { head in
        do throws(PackFailure) {
          passed = try check(head, from: request.start, installer)
          return true
        } catch {
          stop = .failure(error)
          return false
        }
      } receive: { bytes in
        count += Int64(bytes.byteCount)
        let old = Int(min(passed, Int64(bytes.byteCount)))
        passed -= Int64(old)
        guard shouldContinue() else {
          stop = .failure(.abandoned)
          return false
        }
        do throws(PackInstaller.Stop) {
          try installer.push(bytes.extracting(old..<bytes.byteCount))
        } catch {
          stop = error
          return false
        }
        reportProgress(installer)
        return true
      }
    }
    received += count
    switch stop {
    case .skip: return .skip
    case .failure(let failure): throw failure
    case nil: return try outcome(result)
    }
  }

  private func outcome(_ result: Result<TransportReply, TransportError>) throws(PackFailure) -> Outcome {
    switch result {
    case .success(let reply) where reply.status == 200: return .whole
    case .success(let reply) where reply.status == 206: return .slice
    case .success(let reply) where reply.status >= 500 || reply.status == 408 || reply.status == 429:
      return .broken("the server answered \(reply.status)", .server)
    case .success(let reply): throw .unusable("the server answered \(reply.status)")
    case .failure(let error):
      switch error.kind {
      case .unreachable, .timedOut: return .broken(error.reason, .network)
      case .broken: return .broken(error.reason, .server)
      case .tooLong, .stopped, .other: throw .unusable(error.reason)
      }
    }
  }

  /// Returns how many bytes of the response to skip.
  private func check(
    _ head: TransportHead, from start: Int64, _ installer: some PackReceiver
  ) throws(PackFailure) -> Int64 {
    guard head.total == nil || head.total == pack.size else {
      throw .unusable("it has \(head.total ?? 0) bytes, where the answer said \(pack.size)")
    }
    guard head.start == 0 || head.start == start else {
      throw .unusable("the server sent another part of it")
    }
    try installer.take(head)
    return start - head.start
  }

  private func reportProgress(_ installer: some PackReceiver) {
    guard let progress, let files = installer.fileCount else { return }
    var now = Progress(filesTotal: files, bytesTotal: pack.size)
    now.files = installer.recordsRead
    now.bytes = min(installer.position, pack.size)
    progress(now)
  }
}
