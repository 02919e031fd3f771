import Linux
import System
import Testing

@Suite("Child processes") struct ChildProcessTests {
  /// Runs a shell script to its end, and returns its output.
  private static func run(
    _ script: String, environment: [String: String] = [:], input: String? = nil, patience: Int = 10_000
  ) throws -> (output: String, end: ChildProcess.End) {
    let child = try ChildProcess("/bin/sh", ["-c", script], environment: environment)
    if let input { try child.write(Array(input.utf8)) }
    child.closeInput()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
    defer { buffer.deallocate() }
    var output: [UInt8] = []
    while let count = try child.read(into: buffer, milliseconds: 20_000), count > 0 {
      output += buffer[..<count]
    }
    return (String(decoding: output, as: UTF8.self), child.finish(within: patience))
  }

  @Test("It gets its input, only the given variables, and no descriptors besides the standard three")
  func streams() throws {
    let (output, end) = try Self.run(
      "cat; env | grep -v PWD; ls /proc/self/fd", environment: ["A": "b c"], input: "in\n")
    // ls itself opens the folder, as descriptor 3.
    #expect(
      output.split(separator: "\n").filter { !$0.hasPrefix("_=") } == ["in", "A=b c", "0", "1", "2", "3"])
    #expect(end == .exit(0))
  }

  /// A script, and how it ends.
  static let ends: [(script: String, end: ChildProcess.End)] = [
    ("exit 7", .exit(7)), ("kill -9 $$", .signal(9)), ("exec >&-; exec sleep 1000", .signal(15)),
    ("trap '' TERM; exec >&-; while :; do sleep 1; done", .signal(9)),
  ]

  @Test("Its exit status is reported; one that doesn't exit is terminated, then killed", arguments: ends)
  func end(_ script: String, _ end: ChildProcess.End) throws {
    #expect(try Self.run(script, patience: script.contains("sleep") ? 100 : 10_000).end == end)
  }

  @Test("Its own children end with it, and its exit is noticed though they have the pipe open") func group()
    throws
  {
    let child = try ChildProcess("/bin/sh", ["-c", "sleep 1000 & echo $!; exit 3"], environment: [:])
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
    defer { buffer.deallocate() }
    let count = try #require(try child.read(into: buffer, milliseconds: 20_000))
    let id = String(decoding: buffer[..<count], as: UTF8.self).filter(\.isNumber)
    while !child.hasEnded { Clock.sleep(for: .milliseconds(5)) }
    #expect(try child.read(into: buffer, milliseconds: 0) == nil)
    #expect(child.finish(within: 0) == .exit(3))
    let end = Clock.monotonicNanoseconds() + 10_000_000_000
    func isThere() throws -> Bool {
      let status = String(decoding: try DurableFile.read("/proc/\(id)/stat") ?? [], as: UTF8.self)
      return !status.isEmpty && !status.contains(") Z ")
    }
    while try isThere(), Clock.monotonicNanoseconds() < end { Clock.sleep(for: .milliseconds(5)) }
    #expect(try !isThere())
  }

  @Test("A program that doesn't exist can't be started") func missing() {
    #expect(throws: SystemError.self) { try ChildProcess("/nonexistent/program", environment: [:]) }
  }
}
