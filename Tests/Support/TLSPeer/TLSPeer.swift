import CSSL

/// The client's side of a TLS connection, over a socket that somebody else owns; as rude as a test needs it to be.
package final class TLSPeer {
  /// What a client asks for.
  package struct Options {
    package var oldest: TLSVersion? = nil
    package var newest: TLSVersion? = nil
    /// Of TLS 1.2, in openssl's words.
    package var ciphers: String? = nil
    package var host: String? = nil
    package var protocols: [String] = []
    /// Goes on with an earlier session.
    package var session: TLSSessionTicket? = nil
    /// The certificates that it believes; any, where there is none.
    package var authority: String? = nil

    package init(_ change: (inout Options) -> Void = { _ in }) { change(&self) }
  }

  /// What a step came to.
  package enum Step: Equatable {
    case bytes(Int)
    case done
    case wouldBlock
    case end
    case failed(String)
  }

  private let context: OpaquePointer
  private let ssl: OpaquePointer

  package init(_ socket: Int32, _ options: Options = Options()) {
    guard let context = SSL_CTX_new(TLS_client_method()), let ssl = Self.session(context, options) else {
      fatalError("libssl has no memory")
    }
    (self.context, self.ssl) = (context, ssl)
    SSL_set_fd(ssl, socket)
    SSL_set_connect_state(ssl)
  }

  deinit {
    // Without an end, libssl would let nobody go on with the session; the server hears nothing of this one.
    SSL_set_quiet_shutdown(ssl, 1)
    SSL_shutdown(ssl)
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  private static func session(_ context: OpaquePointer, _ options: Options) -> OpaquePointer? {
    // Old protocols are asked for, so that they can be refused.
    SSL_CTX_set_security_level(context, 0)
    if let oldest = options.oldest {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, oldest.number, nil)
    }
    if let newest = options.newest {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, newest.number, nil)
    }
    if let ciphers = options.ciphers { SSL_CTX_set_cipher_list(context, ciphers) }
    if let authority = options.authority {
      SSL_CTX_load_verify_locations(context, authority, nil)
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }
    guard let ssl = SSL_new(context) else { return nil }
    if let host = options.host {
      var name = Array(host.utf8CString)
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
      SSL_set1_host(ssl, host)
    }
    let protocols = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    if !protocols.isEmpty { SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) }
    if let ticket = options.session { SSL_set_session(ssl, ticket.session) }
    return ssl
  }

  /// Goes on with the handshake; as far as it goes where the socket doesn't block.
  package func handshake() -> Step {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    return result == 1 ? .done : step(result)
  }

  package func send(_ bytes: [UInt8]) -> Step {
    ERR_clear_error()
    let count = bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
    return count > 0 ? .bytes(Int(count)) : step(count)
  }

  package func receive(into buffer: inout [UInt8]) -> Step {
    ERR_clear_error()
    let room = Int32(buffer.count)
    let count = buffer.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, room) }
    return count > 0 ? .bytes(Int(count)) : step(count)
  }

  private func step(_ result: Int32) -> Step {
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .end
    default:
      guard let reason = ERR_reason_error_string(ERR_peek_last_error()) else { return .failed("closed") }
      return .failed(String(cString: reason))
    }
  }

  /// Says that it sends no more.
  package func sendCloseNotify() { _ = SSL_shutdown(ssl) }
  /// Asks for new keys in the way of TLS 1.2.
  package func renegotiate() -> Step {
    SSL_renegotiate(ssl)
    return handshake()
  }
  /// Changes its key, and asks the server for the same (RFC 8446 §4.6.3).
  package func updateKeys() -> Step {
    SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
    return handshake()
  }

  package var version: String { String(cString: SSL_get_version(ssl)) }
  package var cipher: String { String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))) }
  package var isResumed: Bool { SSL_session_reused(ssl) == 1 }
  package var hasPending: Bool { SSL_has_pending(ssl) == 1 }

  /// The protocol that the server chose.
  package var chosenProtocol: String? {
    var (name, count): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
    SSL_get0_alpn_selected(ssl, &name, &count)
    return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
  }

  /// What an earlier handshake left to go on with; of TLS 1.3 once something was read after it.
  package var ticket: TLSSessionTicket? { SSL_get1_session(ssl).map { TLSSessionTicket($0) } }

  /// The subject of the server's certificate.
  package var subject: String {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return "" }
    defer { X509_free(certificate) }
    var room = [CChar](repeating: 0, count: 256)
    X509_NAME_oneline(X509_get_subject_name(certificate), &room, Int32(room.count))
    return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// A version of the protocol.
package enum TLSVersion: String, Sendable, CaseIterable {
  case tls10 = "TLSv1"
  case tls11 = "TLSv1.1"
  case tls12 = "TLSv1.2"
  case tls13 = "TLSv1.3"

  var number: Int {
    switch self {
    case .tls10: Int(TLS1_VERSION)
    case .tls11: Int(TLS1_1_VERSION)
    case .tls12: Int(TLS1_2_VERSION)
    case .tls13: Int(TLS1_3_VERSION)
    }
  }
}

/// A session to go on with.
package final class TLSSessionTicket {
  let session: OpaquePointer
  init(_ session: OpaquePointer) { self.session = session }
  deinit { SSL_SESSION_free(session) }
}
