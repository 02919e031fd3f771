import Foundation
import Synchronization

/// Reads and writes lines on descriptors that no other process has; what libraries and WebKit's processes print goes to
/// standard error.
final class Lines: Sendable {
  private let input: Int32
  private let output: Int32
  private let writing = Mutex(())

  /// The most bytes of a line that is read.
  private static let longest = 1 << 20

  /// Takes over standard input and output.
  init() throws {
    input = fcntl(0, F_DUPFD_CLOEXEC, 3)
    output = fcntl(1, F_DUPFD_CLOEXEC, 3)
    let null = open("/dev/null", O_RDWR | O_CLOEXEC)
    guard input >= 0, output >= 0, null >= 0, dup2(null, 0) == 0, dup2(2, 1) == 1 else {
      throw Refusal("standard input and output have to be open")
    }
    close(null)
  }

  /// Calls `take` with each line until the input ends or a line is too long.
  func read(_ take: (Data) -> Void) {
    var rest = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(input, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest.append(contentsOf: buffer[..<count])
      while let end = rest.firstIndex(of: 10) {
        let line = Data(rest[..<end])
        rest = Data(rest[rest.index(after: end)...])
        if !line.isEmpty { take(line) }
      }
      if rest.count > Self.longest { return }
    }
  }

  /// Writes a value as one line; returns false if nobody reads any more.
  @discardableResult
  func write(_ value: some Encodable) -> Bool {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    guard var line = try? encoder.encode(value) else { return false }
    line.append(10)
    return writing.withLock { _ in
      line.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
          let count = Glibc.write(output, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { return false }
          rest = rest.dropFirst(count)
        }
        return true
      }
    }
  }
}
