import Glibc
import System

/// Certificates that a test needs, made by openssl(1) in a folder that goes with them.
package final class Certificates: Sendable {
  private let scratch: ScratchFolder
  package var folder: String { scratch.path }

  package init() throws { scratch = try ScratchFolder("xcache-tls") }

  /// A file, and the key beside it.
  package struct Pair: Sendable {
    package let certificate: String
    package let key: String
  }

  /// A certificate that signs itself, for the names in `hosts`.
  package func make(
    _ name: String, hosts: [String] = ["localhost"],
    algorithm: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    days: Int = 2
  ) throws -> Pair {
    let pair = Pair(certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
    let names = hosts.map { "DNS:\($0)" } + ["IP:127.0.0.1"]
    try Self.openssl(
      ["req", "-x509", "-newkey"] + algorithm + [
        "-nodes", "-utf8", "-subj", "/CN=\(name)", "-days", "\(days)", "-addext",
        "subjectAltName=\(names.joined(separator: ","))", "-keyout", pair.key, "-out", pair.certificate,
      ])
    return pair
  }

  package struct Failed: Error {
    package let words: [String]
  }

  /// Runs openssl(1).
  package static func openssl(_ words: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [Int32(0), 1, 2] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var arguments = (["openssl"] + words).map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var id: pid_t = 0
    guard posix_spawnp(&id, "openssl", &actions, nil, &arguments, environ) == 0 else {
      throw Failed(words: words)
    }
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else { throw Failed(words: words) }
  }
}
