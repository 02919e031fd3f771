import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System

/// The requests of one upload, shared by several threads.
final class UploadJob: Sendable {
  private struct State {
    var rest: ArraySlice<UploadPlan.Unit>
    var sent: Int64 = 0
    var failure: PublishError?
  }

  private static let connections = 4

  private let kept: RetainedBytes
  private let api: OriginClient
  private let progress: @Sendable (Int64) -> Void
  private let state: Locked<State>

  /// Sends `files`, each content once, over several persistent connections; whatever its size, a file takes only a buffer's
  /// memory. After a failure no further request is started.
  ///
  /// `kept` has the bytes of files that were read before; `progress` is called from any thread with the bytes sent so far.
  static func send(
    _ files: [HashedFile], _ kept: RetainedBytes, _ api: OriginClient,
    _ progress: @escaping @Sendable (Int64) -> Void
  ) throws(PublishError) {
    let plan = UploadPlan(files, connections: connections)
    let job = UploadJob(plan.units, kept, api, progress)
    Parallel.run(threads: min(connections, plan.units.count)) { job.run() }
    if let failure = job.failure { throw failure }
  }

  private init(
    _ units: [UploadPlan.Unit], _ kept: RetainedBytes, _ api: OriginClient,
    _ progress: @escaping @Sendable (Int64) -> Void
  ) {
    self.kept = kept
    self.api = api
    self.progress = progress
    state = Locked(State(rest: units[...]))
  }

  private var failure: PublishError? { state.withLock { $0.failure } }

  /// Sends requests until none is left or one has failed.
  private func run() {
    while let unit = take() {
      do {
        try send(unit)
      } catch {
        state.withLock { if $0.failure == nil { $0.failure = error } }
      }
    }
  }

  private func take() -> UploadPlan.Unit? {
    state.withLock { $0.failure == nil ? $0.rest.popFirst() : nil }
  }

  /// Sends a body, and once more if it arrives damaged, unless its file changed. The files of a pack are then sent on their
  /// own, which shows which of them arrives damaged.
  private func send(_ unit: UploadPlan.Unit) throws(PublishError) {
    if try arrives(unit) { return }
    for file in unit.files where try !arrives(.file(file)) {
      throw .damagedOnTheWay(file.source.location)
    }
  }

  /// Sends a body once.
  /// - Returns: false if other bytes arrived, though no file changed.
  private func arrives(_ unit: UploadPlan.Unit) throws(PublishError) -> Bool {
    do {
      try attempt(unit)
      return true
    } catch {
      guard case .origin(.refused(let problem)) = error, problem.code == "digest-mismatch" else {
        throw error
      }
      try check(unit)
      return false
    }
  }

  private func check(_ unit: UploadPlan.Unit) throws(PublishError) {
    for file in unit.files { try FileReader(file.source).check(file.source.status) }
  }

  private func attempt(_ unit: UploadPlan.Unit) throws(PublishError) {
    var call: OriginCall
    switch unit {
    case .file(let file):
      call = .init("PUT", "blobs/\(file.digest.sha256)")
      call.fields = [("Content-MD5", Base64.encode(file.digest.md5.bytes))]
      call.body = try UploadJob.body(file)
    case .pack(let files):
      call = .init("POST", "blobs")
      call.isRepeatable = true
      call.fields = [("Content-Type", "application/vnd.xcache.pack")]
      call.body = .bytes(try pack(files))
    }
    // After the last byte, the origin may still have to write gigabytes.
    call.timeouts.stallSeconds = 120
    call.watch = { [self] more in tell(more) }
    _ = try PublishError.asking { () throws(OriginError) in try api.send(call) }
  }

  /// Reports progress; returns false, which stops this request, once another one has failed.
  private func tell(_ more: Int64) -> Bool {
    let (sent, shouldContinue) = state.withLock { state in
      state.sent += more
      return (state.sent, state.failure == nil)
    }
    if more > 0 { progress(sent) }
    return shouldContinue
  }

  // MARK: Bodies

  private final class OpenFile: Sendable {
    let reader: FileReader
    init(_ source: SourceFile) throws(PublishError) { reader = try FileReader(source) }
  }

  /// Returns a body that reads the file as it is sent.
  private static func body(_ file: HashedFile) throws(PublishError) -> HTTPBody {
    let open = try OpenFile(file.source)
    try open.reader.check(file.source.status)
    return .stream(length: file.digest.size) { offset, buffer in
      let count = try open.reader.read(at: offset, into: buffer)
      if count == 0 { throw PublishError.changedWhileRead(file.source.location) }
      return count
    }
  }

  /// Packs `<sha256> <md5> <size>`, a line feed and the bytes of each file.
  private func pack(_ files: [HashedFile]) throws(PublishError) -> [UInt8] {
    var pack: [UInt8] = []
    pack.reserveCapacity(files.reduce(0) { $0 + Int($1.digest.size) + 128 })
    for file in files {
      let digest = file.digest
      digest.sha256.appendHex(to: &pack)
      pack.append(UInt8(ascii: " "))
      digest.md5.appendHex(to: &pack)
      pack.append(contentsOf: " \(digest.size)\n".utf8)
      if let bytes = kept.bytes(of: file.source.location), bytes.count == Int(digest.size) {
        try UploadJob.check(file.source)
        pack.append(contentsOf: bytes)
      } else {
        let start = pack.count
        pack.append(contentsOf: repeatElement(0, count: Int(digest.size)))
        try UploadJob.fill(&pack, from: start, file)
      }
    }
    return pack
  }

  /// Checks that a file that was read hasn't changed.
  private static func check(_ source: SourceFile) throws(PublishError) {
    let now: FileStatus?
    do {
      now = try Kernel.status(source.location)
    } catch {
      throw .unreadable(source.location, error)
    }
    guard now?.hasBytes(of: source.status) == true else { throw .changedWhileRead(source.location) }
  }

  private static func fill(_ pack: inout [UInt8], from start: Int, _ file: HashedFile) throws(PublishError) {
    let reader = try FileReader(file.source)
    try reader.check(file.source.status)
    var filled = start
    while filled < pack.count {
      var span = pack.mutableSpan
      let count = try span.withUnsafeMutableBytes { (buffer) throws(PublishError) -> Int in
        try reader.read(
          at: Int64(filled - start), into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
      }
      if count == 0 { throw .changedWhileRead(file.source.location) }
      filled += count
    }
  }
}

extension UploadPlan.Unit {
  var files: [HashedFile] {
    switch self {
    case .file(let file): [file]
    case .pack(let files): files
    }
  }
}
