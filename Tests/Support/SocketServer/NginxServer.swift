import Foundation
import System

/// nginx with TLS, a certificate of its own, and files; what isn't a file it asks of another server, without keeping anything back.
package final class NginxServer: Sendable {
  package static var isPossible: Bool {
    ["/usr/sbin/nginx", "/usr/bin/openssl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  }

  package struct NotStarted: Error {}

  package let url: String
  /// To be trusted, PEM.
  package let certificate: String
  private let scratch: ScratchFolder
  private let process: SpawnedProcess

  /// - Parameters:
  ///   - files: by their names.
  ///   - upstream: the port of what answers below /api/.
  package init(_ files: [String: [UInt8]], upstream: UInt16 = 9, isHTTP2: Bool = true) throws {
    scratch = try CertificateFolder.make("xcache-nginx")
    let folder = scratch.path
    certificate = folder + "/certificate.pem"
    for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    // The port was free just now; somebody else may have it by then.
    var started: (SpawnedProcess, UInt16)?
    for _ in 0..<10 where started == nil {
      let port = SocketServer { _ in [.close] }.port
      let text = Self.configuration(folder, port, upstream, isHTTP2)
      try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/nginx.conf"))
      let process = try SpawnedProcess(
        "/usr/sbin/nginx", ["-p", folder, "-e", folder + "/error.log", "-c", folder + "/nginx.conf"])
      while process.isRunning, !FileManager.default.fileExists(atPath: folder + "/pid") {
        Clock.sleep(for: .milliseconds(10))
      }
      if process.isRunning { started = (process, port) }
    }
    guard let (process, port) = started else { throw NotStarted() }
    self.process = process
    url = "https://127.0.0.1:\(port)"
  }

  private static func configuration(
    _ folder: String, _ port: UInt16, _ upstream: UInt16, _ isHTTP2: Bool
  ) -> String {
    """
    daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log;
    events { worker_connections 512; }
    http {
      log_format connections "$connection $server_protocol"; access_log \(folder)/access.log connections;
      client_body_temp_path \(folder)/1; proxy_temp_path \(folder)/2; fastcgi_temp_path \(folder)/3;
      uwsgi_temp_path \(folder)/4; scgi_temp_path \(folder)/5; client_max_body_size 0;
      server {
        listen 127.0.0.1:\(port) ssl\(isHTTP2 ? " http2" : ""); root \(folder);
        ssl_certificate \(folder)/certificate.pem; ssl_certificate_key \(folder)/key.pem;
        location /api/ {
          proxy_pass http://127.0.0.1:\(upstream); proxy_http_version 1.1; proxy_buffering off;
          proxy_request_buffering off; proxy_read_timeout 600s; proxy_send_timeout 600s;
        }
      }
    }

    """
  }

  /// The connection and protocol of each request that is over, `2 HTTP/2.0`; waits until there are so many, a minute at most.
  package func log(of count: Int) throws -> [String] {
    var lines: [String] = []
    for _ in 0..<6_000 {
      lines = try String(contentsOfFile: scratch.path + "/access.log", encoding: .utf8).split(separator: "\n")
        .map(String.init)
      if lines.count >= count { break }
      Clock.sleep(for: .milliseconds(10))
    }
    return lines
  }

  deinit {
    // Not by SIGTERM, which the threads of tests may have blocked for it.
    kill(process.id, SIGKILL)
    process.waitUntilExit()
  }
}
