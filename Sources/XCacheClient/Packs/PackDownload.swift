import Manifests
import System

/// Fetches a pack into its installer. Where the line is torn it goes on there, and where files are passed over, behind
/// them.
struct PackDownload {
  private let transport: any Transport
  private let pack: PackOffer
  private let pauses: [UInt32]
  private let progress: (@Sendable (Progress) -> Void)?
  /// Asked between any two pieces; false gives the pack up.
  var shouldContinue: () -> Bool = { true }
  /// Waits so many milliseconds.
  var pause: (UInt32) -> Void = { Clock.sleep(for: .milliseconds($0)) }
  /// Bytes that came over the wire.
  private(set) var received: Int64 = 0
  /// How often it went on behind what had come.
  private(set) var resumed = 0

  /// - Parameter pauses: milliseconds before another attempt; one that brought much doesn't count.
  init(
    _ pack: PackOffer, by transport: any Transport, pauses: [UInt32],
    progress: (@Sendable (Progress) -> Void)?
  ) {
    self.transport = transport
    self.pack = pack
    self.pauses = pauses
    self.progress = progress
  }

  /// What an exchange came to.
  private enum Outcome {
    case whole, skip
    /// Fewer bytes than were asked for, as the answer said.
    case slice
    /// The line, or the server, which may do better a moment later.
    case torn(String)
  }

  /// An attempt that brought so many bytes doesn't count as one of the few that there are.
  private static let much: Int64 = 64 << 10
  /// Answers with a part of what was asked for that a small pack may come in.
  private static let fewSlices: Int64 = 16

  mutating func run(into installer: PackInstaller) throws(PackFailure) {
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
          throw .unusable("the server sends too slowly")
        }
      case .torn(let reason):
        if installer.position - start >= Self.much { pauses = self.pauses[...] }
        guard let pause = pauses.popFirst() else { throw .unusable(reason) }
        self.pause(pause)
        if installer.position > 0 { resumed += 1 }
      }
    }
  }

  private mutating func exchange(into installer: PackInstaller) throws(PackFailure) -> Outcome {
    var request = TransportRequest(pack.download, limit: pack.size, isUncoded: true)
    request.start = installer.position
    request.entityTag = installer.entityTag
    var stop: PackInstaller.Stop?
    var count: Int64 = 0
    // Of an answer that begins at the file's first byte although a later one was asked for.
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
          stop = .failure(.givenUp)
          return false
        }
        do throws(PackInstaller.Stop) {
          try installer.push(bytes.extracting(old..<bytes.byteCount))
        } catch {
          stop = error
          return false
        }
        tell(installer)
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
      return .torn("the server answered \(reply.status)")
    case .success(let reply): throw .unusable("the server answered \(reply.status)")
    case .failure(let error):
      switch error.kind {
      case .unreachable, .timedOut, .broken: return .torn(error.reason)
      case .tooLong, .stopped, .other: throw .unusable(error.reason)
      }
    }
  }

  /// How many bytes of the answer are to be passed over.
  private func check(
    _ head: TransportHead, from start: Int64, _ installer: PackInstaller
  ) throws(PackFailure) -> Int64 {
    guard head.total == nil || head.total == pack.size else {
      throw .unusable("it has \(head.total ?? 0) bytes, where the answer said \(pack.size)")
    }
    guard head.start == 0 || head.start == start else {
      throw .unusable("the server sent another part of it")
    }
    if let known = installer.entityTag, let tag = head.entityTag, known != tag {
      throw .unusable("it changed during the download")
    }
    installer.entityTag = installer.entityTag ?? head.entityTag
    return start - head.start
  }

  private func tell(_ installer: PackInstaller) {
    guard let progress, let files = installer.fileCount else { return }
    var now = Progress(filesTotal: files, bytesTotal: pack.size)
    now.files = installer.taken
    now.bytes = min(installer.position, pack.size)
    progress(now)
  }
}
