import Dispatch
import Foundation
import PreviewProtocol
import Synchronization
import XCacheWebKit

/// One run of the helper: settings, pages, end.
final class Session: Sendable {
  private struct State {
    var engine: Engine?
    var display: Display?
    var waiting: [EngineJob] = []
    var running = 0
    var maxRunning = 1
    var isEnding = false
  }

  private let lines: Lines
  /// The folder for everything that WebKit and Xvfb store; removed at the end of the run.
  private let folder: String
  private let state = Mutex(State())
  /// The signals that end the run; set by the main thread before there is any other.
  private nonisolated(unsafe) var signals: [any DispatchSourceSignal] = []

  init() throws {
    lines = try Lines()
    var name = Array((FileManager.default.temporaryDirectory.path + "/xcache-webkit-XXXXXX").utf8CString)
    guard mkdtemp(&name) != nil else {
      throw Refusal("no temporary folder can be created in \(NSTemporaryDirectory())")
    }
    folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Reads until the input ends. Runs on the main thread and never returns, since processes bound to the main thread end
  /// with it.
  func run(display: String?) -> Never {
    signal(SIGPIPE, SIG_IGN)
    endOnSignals()
    var isFirst = true
    lines.read { line in
      if isFirst {
        isFirst = false
        begin(line, display: display)
      } else {
        take(line)
      }
    }
    end(0)
  }

  private func endOnSignals() {
    for number in [SIGTERM, SIGINT, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [weak self] in self?.end(128 + number) }
      source.resume()
      signals.append(source)
    }
  }

  private func begin(_ line: Data, display given: String?) {
    do {
      let settings = try Self.decode(EngineSettings.self, line, "the settings")
      try settings.check()
      let size = (settings.width ?? 1280, settings.height ?? 800)
      let display =
        try given.map { try Display(given: $0) } ?? Display(width: size.0, height: size.1, in: folder)
      state.withLock {
        $0.display = display
        $0.maxRunning = settings.parallel ?? 2
      }
      setEnvironment(display.name)
      let folder = folder
      Task.detached { [self] in
        do {
          let engine = try await Engine(settings, folder: folder)
          state.withLock { $0.engine = engine }
          lines.write(EngineReady(engine: engine.name, version: engine.version))
          startNext()
        } catch {
          fail("\(error)")
        }
      }
    } catch {
      fail("\(error)")
    }
  }

  private func fail(_ text: String) {
    lines.write(EngineFailure(error: text))
    end(1)
  }

  /// Sets the environment before anything that reads it runs.
  private func setEnvironment(_ display: String) {
    let values = [
      "DISPLAY": display, "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1",
      "WEBKIT_DISABLE_DMABUF_RENDERER": "1", "NO_AT_BRIDGE": "1", "GIO_USE_VFS": "local",
      "GSETTINGS_BACKEND": "memory", "XDG_RUNTIME_DIR": folder, "XDG_CACHE_HOME": "\(folder)/cache",
      "XDG_DATA_HOME": "\(folder)/data", "XDG_CONFIG_HOME": "\(folder)/config", "TMPDIR": folder,
    ]
    for (name, value) in values { setenv(name, value, 1) }
    unsetenv("WAYLAND_DISPLAY")
    unsetenv("DBUS_SESSION_BUS_ADDRESS")
  }

  private static func decode<Value: Decodable>(
    _ type: Value.Type, _ line: Data, _ name: String
  ) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: line)
    } catch {
      let detail =
        switch error {
        case DecodingError.keyNotFound(let key, _): "there is no \"\(key.stringValue)\""
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
          "\"\(context.codingPath.map(\.stringValue).joined(separator: "."))\" has the wrong type"
        default: "it is not JSON"
        }
      throw Refusal("\(name) can't be read: \(detail)")
    }
  }

  // MARK: Pages

  private struct Numbered: Decodable { let id: Int? }

  private func take(_ line: Data) {
    do {
      let job = try Self.decode(EngineJob.self, line, "the page")
      state.withLock { $0.waiting.append(job) }
      startNext()
    } catch {
      let id = (try? JSONDecoder().decode(Numbered.self, from: line))?.id
      lines.write(EngineFailure(id: id, error: "\(error)"))
    }
  }

  private func startNext() {
    while true {
      let next = state.withLock { state -> (Engine, EngineJob)? in
        guard let engine = state.engine, state.running < state.maxRunning, !state.waiting.isEmpty,
          !state.isEnding
        else { return nil }
        state.running += 1
        return (engine, state.waiting.removeFirst())
      }
      guard let (engine, job) = next else { return }
      Task.detached { [self] in
        let report = await Look(engine, job).run()
        state.withLock { $0.running -= 1 }
        guard lines.write(report) else { end(1) }
        startNext()
      }
    }
  }

  // MARK: The end

  /// Blocks WebKit's thread: it would restart the processes that are being killed, and terminate this one when the display
  /// goes.
  private func stopEngine() {
    let isHeld = DispatchSemaphore(value: 0)
    Task.detached { @WebActor in
      isHeld.signal()
      while true { sleep(60) }
    }
    _ = isHeld.wait(timeout: .now() + .milliseconds(500))
  }

  /// Ends the process and everything that it started.
  private func end(_ code: Int32) -> Never {
    let (isFirst, display) = state.withLock { state in
      defer { state.isEnding = true }
      return (!state.isEnding, state.display)
    }
    // Another thread is already doing it.
    if !isFirst { while true { sleep(60) } }
    if state.withLock({ $0.engine != nil }) { stopEngine() }
    Children.end { display?.isOwn($0) ?? false }
    display?.end()
    try? FileManager.default.removeItem(atPath: folder)
    // Skips the libraries' exit handlers, whose threads are still running.
    _exit(code)
  }
}
