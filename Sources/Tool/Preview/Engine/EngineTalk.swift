import OriginAPI
import PreviewProtocol
import Values

/// The conversation with the engine's program, without I/O: what is sent when, and how long an answer may take.
package struct EngineTalk {
  /// What to do next.
  enum Action: Hashable {
    case send([UInt8])
    /// Read a line until this time.
    case read(until: UInt64)
    case done
  }

  /// Why the conversation failed.
  package enum Fault: Error, Hashable {
    /// The program reports that it can't run.
    case refused(String)
    case notJSON(String)
    /// A member of an answer is missing or invalid.
    case unreadable(String)
    /// An answer to a page that wasn't requested, or was already answered.
    case unasked(String)
    case notReady(seconds: Int)
    case overdue(id: Int, url: String, seconds: Int)
  }

  private enum Stage: Hashable {
    case new
    case starting(until: UInt64)
    case ready
  }

  /// The time limit for its start, in seconds.
  static let start = 60
  /// Seconds beyond a page's timeout, for the page to come to rest and its screenshot to be taken.
  static let grace = 20

  private let settings: EngineSettings
  private var stage = Stage.new
  private var waiting: ArraySlice<EngineJob>
  private var running: [Int: (job: EngineJob, until: UInt64)] = [:]
  private(set) var reports: [Int: PageReport] = [:]
  /// The engine's own name for itself: `WebKitGTK 2.48.1`.
  private(set) var engine = ""

  init(_ settings: EngineSettings, _ jobs: [EngineJob] = []) {
    self.settings = settings
    waiting = jobs[...]
  }

  /// The pages that are open.
  var open: [Int] { running.keys.sorted() }

  /// Returns the next action; `now` is in nanoseconds of a monotonic clock.
  mutating func next(now: UInt64) throws(Fault) -> Action {
    switch stage {
    case .new:
      stage = .starting(until: now + Self.nanoseconds(Self.start))
      return .send(Self.line(settings))
    case .starting(let end):
      guard now < end else { throw .notReady(seconds: Self.start) }
      return .read(until: end)
    case .ready: break
    }
    if let late = running.values.filter({ $0.until <= now }).min(by: { $0.job.id < $1.job.id }) {
      throw .overdue(id: late.job.id, url: late.job.url, seconds: Self.seconds(late.job))
    }
    if running.count < settings.parallel ?? 1, let job = waiting.popFirst() {
      running[job.id] = (job, now + Self.nanoseconds(Self.seconds(job)))
      return .send(Self.line(job))
    }
    guard let first = running.values.map(\.until).min() else { return .done }
    return .read(until: first)
  }

  /// Processes a line from the program.
  mutating func take(_ line: [UInt8]) throws(Fault) {
    guard let json = try? JSONValue.parse(line), json.object != nil else {
      throw .notJSON(String(decoding: line.prefix(200), as: UTF8.self))
    }
    if let error = json["error"]?.string { throw .refused(error) }
    guard stage == .ready else {
      engine = try Self.read(EngineReady.self, json).engine ?? "an unnamed engine"
      stage = .ready
      return
    }
    let report = try Self.read(PageReport.self, json)
    guard running.removeValue(forKey: report.id) != nil else { throw .unasked("id \(report.id)") }
    reports[report.id] = report
  }

  private static func nanoseconds(_ seconds: Int) -> UInt64 { UInt64(seconds) * 1_000_000_000 }

  /// How long a page's report may take, in seconds.
  private static func seconds(_ job: EngineJob) -> Int { Int(job.timeout ?? 30) + grace }

  private static func line(_ message: some Encodable) -> [UInt8] {
    JSONValue(encoding: message).canonical + [0x0a]
  }

  private static func read<Message: Decodable>(
    _ type: Message.Type, _ json: JSONValue
  ) throws(Fault) -> Message {
    do throws(JSONError) {
      return try json.decode(type)
    } catch .member(let name) {
      throw .unreadable(name)
    } catch {
      throw .unreadable("\(error)")
    }
  }
}
