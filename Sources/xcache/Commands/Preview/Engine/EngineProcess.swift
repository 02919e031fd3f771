import Manifests
import Platform
import System

/// The engine's program while it runs: pages in, reports out.
final class EngineProcess {
  private let settings: EngineSettings
  private let child: ChildProcess
  private let lastWords: LastWords
  private var received: [UInt8] = []
  /// Bytes of `received` that are known to hold no line break.
  private var searched = 0
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

  /// Bytes of a line at most.
  private static let lineLimit = 64 << 20
  /// Milliseconds that it may take to end by itself.
  private static let ending = 5_000

  /// - Parameter trace: told each line that it writes to standard error.
  init(
    _ program: EngineProgram, _ settings: EngineSettings, _ interruption: Interruption,
    trace: (@Sendable (String) -> Void)? = nil
  ) throws {
    self.settings = settings
    // What reads no more is noticed where it is written to.
    Signals.ignorePipe()
    let child: ChildProcess
    do {
      child = try ChildProcess(program.path, environment: program.environment)
    } catch {
      throw Failure("\(program.path) can't be started: \(error.reason)", name: "engine")
    }
    self.child = child
    interruption.atEnd { child.finish(within: 0) }
    lastWords = try LastWords(of: child, trace)
  }

  deinit {
    child.finish(within: Self.ending)
    buffer.deallocate()
  }

  /// What a run of the program came to.
  struct Run {
    var reports: [Int: PageReport]
    /// As the program calls itself.
    let engine: String
    /// That it ended or hung on some page; nil where all were answered.
    var loss: Loss?
  }

  struct Loss {
    /// Pages that were open.
    let pages: [Int]
    /// The one that it was, where that is known.
    let page: Int?
    let why: String

    init(_ pages: [Int], page: Int?, why: String) {
      self.pages = pages
      self.page = pages.count == 1 ? pages[0] : page
      self.why = why
    }
  }

  /// Opens pages, several at a time; called once.
  /// - Parameter progress: told how many are done.
  /// - Throws: `Failure`, where it never got ready, or what it says is no answer; then it has ended.
  func show(_ jobs: [EngineJob], progress: (Int) -> Void = { _ in }) throws -> Run {
    var talk = EngineTalk(settings, jobs)
    var loss: Loss?
    do {
      try carryOn(&talk, progress)
    } catch let fault as EngineTalk.Fault {
      child.finish(within: 0)
      Interruption.waitIfAny()
      guard case .overdue(let id, _, _) = fault else {
        throw Failure(Self.message(fault, lastWords.words), name: "engine")
      }
      loss = Loss(talk.open, page: id, why: Self.message(fault))
    } catch is Ended {
      let end = child.finish(within: Self.ending)
      Interruption.waitIfAny()
      guard !talk.open.isEmpty else {
        throw Failure(
          "\(EngineProgram.name) exited before it was ready: \(end)\(lastWords.words.text)", name: "engine")
      }
      loss = Loss(
        talk.open, page: nil, why: "\(EngineProgram.name) exited on it: \(end)\(lastWords.words.text)")
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

  /// The next line, without its end; nil where none is whole by then.
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
      // What it started may keep its pipe open, so its end is looked for, too.
      let wasOver = child.hasEnded
      let wait = min(wasOver ? 0 : 250, (end - now) / 1_000_000 + 1)
      switch try child.read(into: buffer, milliseconds: Int(wait)) {
      case nil: if wasOver { throw Ended() }
      case 0?: throw Ended()
      case let count?: received += buffer[..<count]
      }
    }
  }

  // MARK: - Words

  private static func message(_ fault: EngineTalk.Fault, _ words: EngineWords) -> String {
    if case .refused(let why) = fault { return "\(EngineProgram.name): \(words.explaining(why))" }
    return message(fault) + words.text
  }

  private static func message(_ fault: EngineTalk.Fault) -> String {
    let name = EngineProgram.name
    return switch fault {
    case .refused(let why): "\(name): \(why)"
    case .notJSON(let text):
      "\(name) wrote something that isn't an answer: \(text.onOneLine); does it belong to this xcache?"
    case .unreadable(let member):
      "an answer of \(name) has no valid \"\(member)\"; build it from the same source as xcache: make webkit"
    case .unasked(let what): "\(name) sent an answer that nobody asked for: \(what)"
    case .notReady(let seconds): "\(name) wasn't ready within \(seconds) s"
    case .overdue(_, let url, let seconds):
      "\(name) didn't answer about \(url) within \(seconds) s and was stopped"
    }
  }
}

/// What a program says on standard error: noise, until it ends for no other reason given.
private final class LastWords: Sendable {
  private let state = Locked((words: EngineWords(), isWhole: false))
  private let thread: OSThread

  private static let longest = 400
  /// Looks, 5 ms apart, for the end of what is on its way here.
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
          state.withLock { $0.words.add(line) }
        }
      }
      state.withLock { $0.isWhole = true }
    }
  }

  /// What it said, once it has ended; somebody who outlives it may go on.
  var words: EngineWords {
    for _ in 0..<Self.patience where !state.withLock({ $0.isWhole }) { Clock.sleep(for: .milliseconds(5)) }
    return state.withLock { $0.words }
  }
}
