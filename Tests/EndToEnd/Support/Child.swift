import Glibc
import Synchronization
import System
import TestSupport

/// A child process. Its output goes to files, so that it never blocks on a reader.
final class Child: Sendable {
  let id: pid_t
  /// Contains `stdout` and `stderr`.
  private let folder: Scratch
  private let status = Locked<Int32?>(nil)
  /// The peak memory when last read.
  private let peak = Atomic<Int>(0)

  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter folder: the working directory.
  init(_ words: [String], environment: [String: String], in folder: String) throws {
    self.folder = try Scratch()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, self.folder.path + "/stdout", flags, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, self.folder.path + "/stderr", flags, 0o644)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    // posix_spawn's action for the working directory needs _GNU_SOURCE; env changes it, and then executes the program.
    var arguments = (["env", "-C", folder] + words).map { strdup($0) } + [nil]
    // Programs built with a sanitizer report to the same place as the tests, and are checked for leaks too.
    let sanitizers = Environment.variables.filter { ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key) }
      .mapValues { $0 + ":detect_leaks=1" }
    var variables = environment.merging(sanitizers) { own, _ in own }.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, "env", &actions, &attributes, &arguments, &variables)
    guard error == 0 else { throw Failed(description: "\(words[0]): \(String(cString: strerror(error)))") }
    self.id = id
  }

  // A failed test leaves no process running.
  deinit {
    guard status.withLock({ $0 == nil }) else { return }
    kill(id, SIGKILL)
    var raw: Int32 = 0
    waitpid(id, &raw, 0)
  }

  func signal(_ signal: Int32) { kill(id, signal) }

  var standardOutput: String { text("stdout") }
  var standardError: String { text("stderr") }

  private func text(_ name: String) -> String {
    String(decoding: (try? DurableFile.read("\(folder.path)/\(name)")) ?? [], as: UTF8.self)
  }

  /// Whether it has ended; doesn't block.
  var hasEnded: Bool {
    status.withLock { status in
      if status != nil { return true }
      notePeak()
      var raw: Int32 = 0
      guard waitpid(id, &raw, WNOHANG) == id else { return false }
      status = raw
      return true
    }
  }

  /// Waits until it ends.
  /// - Returns: the exit code, or 128 plus the number of the signal that ended it, as in shells.
  func wait(seconds: Double = 60) throws -> Int32 {
    guard Wait.until(seconds, { hasEnded }), let raw = status.withLock({ $0 }) else {
      throw Failed(description: "process \(id) still runs after \(seconds) s; it said: \(standardError)")
    }
    return raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
  }

  // MARK: - Kernel statistics

  /// The peak resident memory, in bytes; for an ended process the last value that was read.
  var peakMemory: Int {
    notePeak()
    return peak.load(ordering: .relaxed)
  }

  private func notePeak() {
    let lines = Child.read("/proc/\(id)/status").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("VmHWM:") }),
      let kilobytes = Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1])
    else { return }
    peak.store(kilobytes << 10, ordering: .relaxed)
  }

  /// Reads a file in /proc, whose size is given as 0; empty if it doesn't exist.
  private static func read(_ path: String) -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 8)
    defer { buffer.deallocate() }
    guard let file = try? Kernel.open(path, .read), let count = try? Kernel.read(file, at: 0, into: buffer)
    else { return "" }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// The target of each open descriptor.
  var descriptors: [String] {
    let folder = "/proc/\(id)/fd"
    return ((try? Folder.textNames(folder)) ?? []).compactMap { name in
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlink("\(folder)/\(name)", &target, target.count)
      return count < 0 ? nil : String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}

/// Waiting for a condition.
enum Wait {
  /// Repeats `condition` for at most `seconds`; returns whether it became true.
  static func until(_ seconds: Double, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Clock.monotonicNanoseconds() + UInt64(seconds * 1e9)
    while try !condition() {
      if Clock.monotonicNanoseconds() > end { return false }
      Clock.sleep(for: .milliseconds(2))
    }
    return true
  }
}
