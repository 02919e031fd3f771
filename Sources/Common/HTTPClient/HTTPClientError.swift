/// The reason why there is no response.
package enum HTTPClientError: Error, Sendable {
  /// Thrown when the text isn't an absolute http or https URL.
  case badURL(String)
  /// Thrown when the method or a field contains a control character, or has no name.
  case badField(String)
  /// Thrown when the host name has no address.
  case couldNotResolve(host: String)
  /// Thrown when nothing listens there, or there is no route to it.
  case couldNotConnect(host: String, port: Int)
  /// Thrown when the host has only addresses that aren't to be connected to; with the last of them.
  case refusedAddress(host: String, address: [UInt8])
  /// Thrown when no connection was established in time, or too few bytes were transferred for too long.
  case timedOut(host: String, port: Int)
  /// Thrown when certificates or ciphers don't agree; `reason` is the TLS library's message.
  case tls(host: String, reason: String)
  /// Thrown when the connection broke before a response started.
  case reset(host: String, port: Int)
  /// Thrown when the connection broke in the middle of the response.
  case cutOff(host: String, port: Int)
  /// Thrown when the response isn't HTTP, or can't be decoded.
  case notHTTP(host: String, reason: String)
  /// Thrown when the response is longer than the sink accepts.
  case answerTooLong(limit: Int64)
  /// Thrown when there were more redirects than allowed, or one to a scheme that isn't allowed.
  case redirect(reason: String)
  /// Thrown when the body had fewer bytes than its length.
  case bodyEnded(at: Int64)
  /// Thrown when `read` of the body or `write` of the sink threw.
  case callback(any Error)
  /// Thrown when `watch` returned false.
  case cancelled
  /// Thrown for libcurl's own failures, such as a lack of memory.
  case failed(code: Int, reason: String)
}

extension HTTPClientError: CustomStringConvertible {
  package var description: String { description(authorities: "--cacert") }

  /// What is wrong, and what to do.
  /// - Parameter option: the option that names a file of certificates to trust; nil if only the system's are.
  package func description(authorities option: String?) -> String {
    switch self {
    case .badURL(let text): "\(text) is not an http or https URL"
    case .badField(let name): "the header field \"\(name)\" has no name or contains a control character"
    case .couldNotResolve(let host): "no host named \(host)"
    case .couldNotConnect(let host, let port): "nothing answers at \(host) port \(port)"
    case .refusedAddress(let host, let address):
      "\(host) has the address \(Self.text(address)), where nothing is sent"
    case .timedOut(let host, let port): "\(host) port \(port) took too long to answer"
    case .tls(let host, let reason):
      "no secure connection to \(host): "
        + (Self.message(ofTLS: reason, option).map { "\($0) (\(reason))" } ?? reason)
    case .reset(let host, let port): "\(host) port \(port) closed the connection"
    case .cutOff(let host, let port): "\(host) port \(port) closed the connection in the middle of its answer"
    case .notHTTP(let host, let reason): "the answer of \(host) can't be read: \(reason)"
    case .answerTooLong(let limit): "the answer is longer than \(limit) bytes"
    case .redirect(let reason): "a redirect that isn't followed: \(reason)"
    case .bodyEnded(let offset): "the request body ended early, at \(offset)"
    case .callback(let error): "\(error)"
    case .cancelled: "stopped"
    case .failed(_, let reason): reason
    }
  }

  private static func text(_ address: [UInt8]) -> String {
    guard address.count == 16 else { return address.map { "\($0)" }.joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]) }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  /// Whether the file of certificates to trust is the cause, whatever server was asked.
  package var isOfAuthorities: Bool {
    guard case .tls(_, let reason) = self else { return false }
    return Self.authorityFaults.contains(where: reason.lowercased().contains)
  }

  private static let authorityFaults = [
    "error setting certificate", "error adding trust anchors", "problem with the ssl ca cert",
  ]

  /// Explains a TLS failure and what to do about it, if OpenSSL's message allows; nil if that message has to suffice.
  private static func message(ofTLS reason: String, _ option: String?) -> String? {
    let reason = reason.lowercased()
    func says(_ texts: String...) -> Bool { texts.contains(where: reason.contains) }
    // OpenSSL's messages for bytes that aren't a TLS record: mostly the response of a plain HTTP server.
    if says("wrong version number", "packet length too long", "record layer failure") {
      return "the server there uses plain http: use http:// in the address"
    }
    if says("self-signed", "self signed", "unable to get local issuer") {
      let remedy =
        option.map { "give its issuer's file with \($0)" }
        ?? "add its issuer to the system's certificates (update-ca-certificates)"
      return "its certificate is not signed by a trusted issuer; if it is a private one, \(remedy)"
    }
    if says("certificate has expired") { return "its certificate has expired and must be renewed" }
    if says("not yet valid") { return "its certificate isn't valid yet; check the clocks of both machines" }
    if says("alert protocol version", "unsupported protocol") {
      return "it doesn't support TLS 1.2 or 1.3"
    }
    if says("no alternative certificate subject name", "hostname mismatch", "does not match target host") {
      return "its certificate is for another name; use that name"
    }
    if authorityFaults.contains(where: reason.contains) {
      return "the file of trusted certificates is invalid; it must be PEM (\(option ?? "the system's"))"
    }
    return nil
  }
}
