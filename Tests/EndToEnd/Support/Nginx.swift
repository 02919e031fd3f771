import Glibc
import TestSupport

/// nginx as the static host of a mirror. Missing files are requested from an origin, as a CDN does.
final class Nginx {
  let port: UInt16
  private let scratch: Scratch
  private let process: Child

  var url: String { "http://127.0.0.1:\(port)" }

  /// Whether nginx is installed.
  static var isInstalled: Bool { access("/usr/sbin/nginx", X_OK) == 0 }

  /// A port that is currently free.
  static func freePort() -> UInt16 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(socket, $0, length)
        _ = getsockname(socket, $0, &length)
      }
      return UInt16(bigEndian: pointer.pointee.sin_port)
    }
  }

  init(root: String, port: UInt16, origin: UInt16) throws {
    self.port = port
    scratch = try Scratch()
    let folder = scratch.path
    let configuration = """
      daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log; worker_rlimit_nofile 1024;
      events { worker_connections 256; }
      http {
        access_log off;
        client_body_temp_path \(folder)/1; proxy_temp_path \(folder)/2; fastcgi_temp_path \(folder)/3;
        uwsgi_temp_path \(folder)/4; scgi_temp_path \(folder)/5;
        types { text/html html; text/css css; application/javascript js; application/json json; image/svg+xml svg; }
        default_type application/octet-stream;
        server {
          listen 127.0.0.1:\(port);
          root \(root);
          location / { try_files $uri @origin; add_header Cache-Control no-cache; }
          location ~ /\\. { return 404; }
          location @origin { proxy_pass http://127.0.0.1:\(origin)$request_uri; }
        }
      }

      """
    let file = try scratch.write("nginx.conf", configuration)
    process = try Child(
      ["/usr/sbin/nginx", "-p", folder, "-e", folder + "/error.log", "-c", file],
      environment: ["PATH": "/usr/bin:/bin"],
      in: folder)
    let web = Web(port: port)
    guard Wait.until(10, { (try? web.ask("/")) != nil || process.hasEnded }), !process.hasEnded else {
      throw Child.Failed(description: "no nginx: \(process.standardError)")
    }
  }

  deinit {
    process.signal(SIGTERM)
    _ = try? process.wait(seconds: 5)
  }
}
