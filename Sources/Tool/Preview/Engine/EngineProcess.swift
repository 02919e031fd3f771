import Linux
import PreviewProtocol
import System
import Values

/// The running engine program: pages in, reports out.
final class EngineProcess {
  private let settings: EngineSettings
  private let child: ChildProcess
  private let errorReader: ErrorReader
  private var received: [UInt8] = []
  /// How many bytes of `received` are known to hold no line break.
  private var searched = 0
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

  /// The maximum length of a line, in bytes.
  private static let lineLimit = 64 << 20
  /// How long it may take to end by itself, in milliseconds.
  private static let ending = 5_000

  /// Starts the program; `trace` gets each line of its standard error.
  init(
    _ program: EngineProgram, _ settings: EngineSettings, _ interruption: Interruption,
    trace: (@Sendable (String) -> Void)? = nil
  ) throws {
    self.settings = settings
    // A closed pipe is noticed when writing to it.
    Signals.ignorePipe()
    let child: ChildProcess
    do {
      child = try ChildProcess(program.path, environment: program.environment)
    } catch {
      throw PreviewError.notStarted(path: program.path, error)
    }
    self.child = child
    interruption.atEnd { child.finish(within: 0) }
    errorReader = try ErrorReader(of: child, trace)
  }

  deinit {
    child.finish(within: Self.ending)
    buffer.deallocate()
  }

  /// The result of a run of the program.
  struct Run {
    var reports: [Int: PageReport]
    /// The engine's own name for itself.
    let engine: String
    /// How the program was lost on a page, by ending or hanging; nil if all pages were answered.
    var loss: Loss?
  }

  struct Loss {
    /// The pages that were open.
    let pages: [Int]
    /// The page that caused it, if known.
    let page: Int?
    let why: String

    init(_ pages: [Int], page: Int?, why: String) {
      self.pages = pages
      self.page = pages.count == 1 ? pages[0] : page
      self.why = why
    }
  }

  /// Opens pages, several at a time; called once. `progress` gets the number of pages done.
  /// - Throws: `PreviewError` if the program never got ready, or gave an invalid answer; then it has ended.
  func show(_ jobs: [EngineJob], progress: (Int) -> Void = { _ in }) throws -> Run {
    var talk = EngineTalk(settings, jobs)
    var loss: Loss?
    do {
      try carryOn(&talk, progress)
    } catch let fault as EngineTalk.Fault {
      child.finish(within: 0)
      Interruption.waitIfAny()
      guard case .overdue(let id, _, _) = fault else {
        throw PreviewError.badAnswer(fault, errorReader.log)
      }
      loss = Loss(talk.open, page: id, why: fault.message)
    } catch is Ended {
      let end = child.finish(within: Self.ending)
      Interruption.waitIfAny()
      guard !talk.open.isEmpty else {
        throw PreviewError.endedEarly(end, errorReader.log)
      }
      loss = Loss(
        talk.open, page: nil, why: "\(EngineProgram.name) exited on it: \(end)\(errorReader.log.text)")
    }
    child.finish(within: Self.ending)
    return Run(reports: talk.reports, engine: talk.engine, loss: loss)
  }

  private func carryOn(_ talk: inout EngineTalk, _ progress: (Int) -> Void) throws {
    while true {
      switch try talk.next(now: Clock.monotonicNanoseconds()) {
      case .send(let line):
        do { try child.write(line) } catch { throw Ended() }
      case .read(let end):
        if let line = try line(until: end) {
          try talk.take(line)
          progress(talk.reports.count)
        }
      case .done: return
      }
    }
  }

  private struct Ended: Error {}

  /// Returns the next line without its line break, or nil if none is complete by `end`.
  private func line(until end: UInt64) throws -> [UInt8]? {
    while true {
      if let index = received[searched...].firstIndex(of: 0x0a) {
        let line = Array(received[..<index])
        received.removeSubrange(...index)
        searched = 0
        return line
      }
      searched = received.count
      guard searched <= Self.lineLimit else {
        throw EngineTalk.Fault.notJSON("a line of more than \(Bytes.text(Int64(Self.lineLimit)))")
      }
      let now = Clock.monotonicNanoseconds()
      if now >= end { return nil }
      // Its child processes may keep the pipe open, so also check whether it has ended.
      let wasOver = child.hasEnded
      let wait = min(wasOver ? 0 : 250, (end - now) / 1_000_000 + 1)
      switch try child.read(into: buffer, milliseconds: Int(wait)) {
      case nil: if wasOver { throw Ended() }
      case 0?: throw Ended()
      case let count?: received += buffer[..<count]
      }
    }
  }
}

/// The program's standard error: noise, unless it ends without giving another reason.
private final class ErrorReader: Sendable {
  private let state = Locked((log: EngineErrorLog(), isWhole: false))
  private let thread: OSThread

  private static let longest = 400
  /// How often to check, every 5 ms, whether everything written has arrived.
  private static let patience = 200

  init(of child: ChildProcess, _ trace: (@Sendable (String) -> Void)?) throws(SystemError) {
    let state = state
    thread = try OSThread(name: "engine-errors") {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 14, alignment: 16)
      defer { buffer.deallocate() }
      var rest: [UInt8] = []
      while let count = try? child.readErrors(into: buffer), count > 0 {
        rest += buffer[..<count]
        while let end = rest.firstIndex(of: 0x0a) ?? (rest.count > 1 << 14 ? rest.count - 1 : nil) {
          let line = String(decoding: rest[..<end].prefix(Self.longest), as: UTF8.self)
          rest.removeSubrange(...end)
          guard !line.isEmpty else { continue }
          trace?("\(EngineProgram.name): \(line)")
          state.withLock { $0.log.add(line) }
        }
      }
      state.withLock { $0.isWhole = true }
    }
  }

  /// What it wrote, after it has ended; a child process that outlives it may still be writing.
  var log: EngineErrorLog {
    for _ in 0..<Self.patience where !state.withLock({ $0.isWhole }) { Clock.sleep(for: .milliseconds(5)) }
    return state.withLock { $0.log }
  }
}
