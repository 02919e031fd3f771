import CHelper
import Foundation

/// The display that pages are painted on: an invisible one of the helper's own, or one given by the user.
final class Display: Sendable {
  let name: String
  /// The process of Xvfb; nil if the display was given.
  private let process: pid_t?

  /// Seconds within which Xvfb has to start.
  private static let patience = 20

  /// Uses an existing display.
  ///
  /// - Throws: `Refusal` if it can't be reached.
  init(given name: String) throws {
    self.name = name
    process = nil
    // Checked here, since WebKit's library would terminate the process.
    guard let number = name.wholeMatch(of: /:([0-9]{1,5})(\.[0-9]+)?/)?.1 else { return }
    guard Self.answers("/tmp/.X11-unix/X\(number)") else {
      throw Refusal("there is no display \(name): leave out --display, and Xvfb is started")
    }
  }

  /// Starts Xvfb, which ends with this process at the latest; call it on the main thread only.
  ///
  /// - Throws: `Refusal` if it can't be started.
  init(width: Int, height: Int, in folder: String) throws {
    let authority = "\(folder)/authority"
    try Self.writeAuthority(to: authority)
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Refusal("no pipe can be created for Xvfb") }
    // No other child has been started yet that could inherit them.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    let words = [
      "Xvfb", "-displayfd", "\(ends[1])", "-screen", "0", "\(width)x\(height)x24", "-nolisten", "tcp",
      "-auth",
      authority,
    ]
    var copies = words.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    let child = xcache_start_bound(&copies, ends[1])
    close(ends[1])
    guard child > 0 else { throw Refusal("no process can be started for Xvfb") }
    guard let number = Self.line(from: ends[0]), let display = Int(number) else {
      kill(child, SIGKILL)
      var status: Int32 = 0
      waitpid(child, &status, 0)
      throw Refusal(
        (status >> 8) & 0xFF == 127
          ? "Xvfb isn't installed: apt-get install xvfb, or give a display with --display :0"
          : "Xvfb doesn't start; see what it says: Xvfb -displayfd 1")
    }
    process = child
    name = ":\(display)"
    setenv("XAUTHORITY", authority, 1)
  }

  /// Ends Xvfb, which then removes its lock and its socket.
  func end() {
    guard let process else { return }
    kill(process, SIGTERM)
    for _ in 0..<50 {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      usleep(20_000)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Whether this is Xvfb's process.
  func isOwn(_ id: pid_t) -> Bool { id == process }

  /// Writes an access file, so that no other user of this machine can see pages or type into them. The format is that of
  /// Xau: family (wild), address, display, name and data, each with its length in two bytes.
  private static func writeAuthority(to path: String) throws {
    let name = Array("MIT-MAGIC-COOKIE-1".utf8)
    let cookie = (0..<16).map { _ in UInt8.random(in: 0...255) }
    let bytes: [UInt8] =
      [0xFF, 0xFF, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, UInt8(cookie.count)] + cookie
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    else { throw Refusal("\(path) can't be written") }
  }

  private static func line(from descriptor: Int32) -> String? {
    var text: [UInt8] = []
    let end = ContinuousClock.now + .seconds(patience)
    while ContinuousClock.now < end {
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard Glibc.poll(&poll, 1, 200) > 0 else { continue }
      var byte: UInt8 = 0
      guard read(descriptor, &byte, 1) == 1 else { return nil }
      if byte == 10 { return String(decoding: text, as: UTF8.self) }
      text.append(byte)
    }
    return nil
  }

  private static func answers(_ path: String) -> Bool {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
