import Linux
import System
import TLS

/// The options of `serve` for TLS.
enum ServeTLS {
  static let options: [Option] = [
    .value(
      "tls-cert", "FILE", "serve https with this certificate (PEM, followed by its chain)"),
    .value("tls-key", "FILE", "the certificate's private key (PEM, unencrypted)"),
  ]

  /// Returns what accepts TLS connections, or nil for plain HTTP.
  static func acceptor(_ arguments: Arguments, _ log: (String) -> Void) throws -> TLSAcceptor? {
    switch (try arguments.value("tls-cert"), try arguments.value("tls-key")) {
    case (nil, nil): return nil
    case (_?, nil):
      throw UsageError("\(arguments.source("tls-cert")) needs --tls-key FILE, the certificate's private key")
    case (nil, _?):
      throw UsageError("\(arguments.source("tls-key")) needs --tls-cert FILE, the key's certificate")
    case (let certificate?, let key?):
      do throws(TLSError) {
        let acceptor = try TLSAcceptor(certificate: certificate, key: key)
        describe(acceptor.credentials, key, log)
        return acceptor
      } catch {
        throw failure(error)
      }
    }
  }

  /// Returns the failure with the same name as for an unusable `--cacert` file.
  private static func failure(_ error: TLSError) -> Failure {
    let message = "https can't be enabled: \(error)"
    switch error {
    case .notAFile: return Failure(message, name: "no-files")
    case .unreadable(let cause):
      return cause.code == .noSuchFileOrDirectory ? Failure(message, name: "no-files") : Failure(message)
    default: return Failure(message, code: .usage, name: "certificates")
    }
  }

  /// Reloads certificate and key; if they are invalid, the old ones stay in use.
  static func reload(_ acceptor: TLSAcceptor?, _ log: (String) -> Void) {
    guard let acceptor else { return }
    do throws(TLSError) {
      try acceptor.reload()
      describe(acceptor.credentials, acceptor.keyPath, log)
    } catch {
      log("error: the old certificate (\(message(acceptor.credentials))) stays in use: \(error)")
    }
  }

  private static func describe(_ credentials: TLSCredentials, _ key: String, _ log: (String) -> Void) {
    log("serving the certificate \(message(credentials))")
    if credentials.isKeyOpenToAll {
      log("warning: other users of this machine can read the key \(key): run chmod o= \(key)")
    }
    if credentials.expires <= Clock.unixMilliseconds() / 1000 {
      log("warning: the certificate has expired, so clients won't connect; renew it and send SIGHUP")
    }
  }

  private static func message(_ credentials: TLSCredentials) -> String {
    let hosts = credentials.hosts.isEmpty ? credentials.name : credentials.hosts.joined(separator: ", ")
    return "for \(hosts), until \(Timestamp.words(credentials.expires * 1000))"
  }

  // MARK: What else follows

  static func scheme(_ acceptor: TLSAcceptor?) -> String { acceptor == nil ? "http" : "https" }

  /// Returns the host and port by which clients reach the server. With TLS, the host is a name in the certificate if that doesn't
  /// cover the address.
  static func host(of address: SocketAddress, _ acceptor: TLSAcceptor?) -> String {
    guard let credentials = acceptor?.credentials, !credentials.covers(host: address.host),
      let name = credentials.hosts.first(where: { !$0.hasPrefix("*") })
    else { return address.description }
    return "\(name):\(address.port)"
  }

  /// The certificate's expiry in Prometheus's text exposition format.
  static func prometheusText(_ acceptor: TLSAcceptor?) -> String {
    guard let credentials = acceptor?.credentials else { return "" }
    let name = "xcache_tls_certificate_expires_timestamp_seconds"
    let host = credentials.name.filter { $0 != "\"" && $0 != "\\" && $0 != "\n" }
    return "# HELP \(name) When the served certificate expires, in seconds since 1970.\n"
      + "# TYPE \(name) gauge\n\(name){host=\"\(host)\"} \(credentials.expires)\n"
  }
}
