import Foundation
import SocketServer
import System
import TestSupport

/// `tls_server.py`: names, certificates and addresses as it says.
package final class TLSServer: Sendable {
  package static var isPossible: Bool {
    ["/usr/bin/python3", "/usr/bin/openssl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// One for all tests: its certificates take a second, and it changes by its zones alone, which are each test's own name's.
  package static let shared = Result { try TLSServer() }

  package let port: Int
  package let authorities: String
  private let folder: Scratch
  // It ends when this pipe is closed, with the process at the latest.
  private let input = Pipe()

  private struct NotStarted: Error {}

  package init() throws {
    folder = try Scratch()
    authorities = "\(folder.path)/authority.pem"
    let process = try SpawnedProcess(
      "/usr/bin/python3", [DurableFile.parent(of: #filePath) + "/tls_server.py", folder.path],
      input: input.fileHandleForReading.fileDescriptor)
    let file = "\(folder.path)/port"
    for _ in 0..<3_000 where !FileManager.default.fileExists(atPath: file) {
      guard process.isRunning else { throw NotStarted() }
      Clock.sleep(for: .milliseconds(20))
    }
    guard let text = try DurableFile.read(file), let port = Int(String(decoding: text, as: UTF8.self)) else {
      throw NotStarted()
    }
    self.port = port
  }

  package func url(_ host: String) -> String { "https://\(host):\(port)/" }

  /// What its DNS over HTTPS says.
  package func setZone(_ json: String) throws {
    try DurableFile.write(Array(json.utf8), to: "\(folder.path)/zone.json")
  }
}
