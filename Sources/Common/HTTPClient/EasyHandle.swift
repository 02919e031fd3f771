import CCurl
import System

/// A libcurl easy handle, which makes one request at a time and keeps its connections for the next.
///
/// Not `Sendable` by itself: `HTTPClient` gives it to one thread at a time, which libcurl allows (libcurl-thread(3): "You
/// must never share the same handle in multiple threads" at the same time).
final class EasyHandle {
  let handle: UnsafeMutableRawPointer
  /// The buffer in which libcurl describes a failure beyond its code; "at least CURL_ERROR_SIZE bytes" that have to stay
  /// valid (CURLOPT_ERRORBUFFER(3)).
  private let details = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// Whether the last request found its idle connection gone, and has to be sent again with `isRepeat`.
  private(set) var isToBeRepeated = false

  init() throws(HTTPClientError) {
    guard Library.isReady, let handle = curl_easy_init() else {
      throw .failed(code: Int(CURLE_FAILED_INIT.rawValue), reason: "libcurl can't be started")
    }
    self.handle = handle
  }

  deinit {
    Libcrypto.using { curl_easy_cleanup(handle) }
    details.deallocate()
  }

  /// Whether libcurl could be initialised.
  static var isReady: Bool { Library.isReady }

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - sink: where the response goes.
  ///   - handOver: takes the response and provides the body, instead of `sink` and `request`.
  ///   - run: performs the request that the handle was set up for.
  func perform(
    _ request: HTTPRequest, into sink: HTTPSink, by handOver: HandOver? = nil,
    run: (UnsafeMutableRawPointer) throws(HTTPClientError) -> CURLcode = { handle in
      Libcrypto.using { curl_easy_perform(handle) }
    }
  ) throws(HTTPClientError) -> HTTPReply {
    let exchange = HTTPExchange(request, sink, handOver)
    isToBeRepeated = false
    // Keeps "live connections, the Session ID cache, the DNS cache, the cookies" (curl_easy_reset(3)).
    curl_easy_reset(handle)
    details.pointee = 0
    set(CURLOPT_ERRORBUFFER, pointer: UnsafeMutableRawPointer(details))
    let list = try fieldList(of: request)
    let resolveList = try resolveList(of: request)
    defer {
      curl_slist_free_all(list)
      curl_slist_free_all(resolveList)
    }
    set(CURLOPT_HTTPHEADER, pointer: list)
    set(CURLOPT_RESOLVE, pointer: resolveList)
    try setTarget(request)
    setLimits(request)
    setBody(request)
    let outcome = withExtendedLifetime(exchange) { () -> Result<CURLcode, HTTPClientError> in
      setCallbacks(Unmanaged.passUnretained(exchange).toOpaque())
      if request.admits != nil { setAdmission(Unmanaged.passUnretained(exchange).toOpaque()) }
      return Result { () throws(HTTPClientError) in try run(handle) }
    }
    var route = route(isSecure: Target(request.url)?.isSecure ?? false)
    route.isRepeat = request.isRepeat
    request.routed?(route)
    if let failure = exchange.failure { throw failure }
    let code = try outcome.get()
    // libcurl 7 reports a stream that ends with its connection as a partial file.
    let ofLostConnections = [
      CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING,
      CURLE_PARTIAL_FILE,
    ]
    if ofLostConnections.contains(code), !route.isNew { exchange.connectionEnded() }
    isToBeRepeated = exchange.isToBeRepeated
    if isToBeRepeated, let target = Target(request.url) { throw .reset(host: target.host, port: target.port) }
    if code == CURLE_COULDNT_CONNECT, let address = exchange.refusedAddress {
      throw .refusedAddress(host: Target(request.url)?.host ?? request.url, address: address)
    }
    guard code == CURLE_OK else { throw error(code, request.url) }
    // For a response that breaks off in its head, libcurl reports success.
    guard exchange.isHeadWhole || exchange.head.status == 0 else {
      let target = Target(request.url)
      throw .cutOff(host: target?.host ?? request.url, port: target?.port ?? 0)
    }
    // libcurl takes 101, which switches to another protocol, for a response; we never ask for one.
    guard exchange.head.status >= 200 else {
      let host = Target(request.url)?.host ?? request.url
      throw .notHTTP(
        host: host, reason: "status \(exchange.head.status) to a request that asked for no other protocol")
    }
    var reply = HTTPReply(exchange.head, body: exchange.kept)
    var version = 0
    xcache_getinfo_long(handle, CURLINFO_HTTP_VERSION, &version)
    reply.isMultiplexed = version >= Int(CURL_HTTP_VERSION_2_0)
    return reply
  }

  /// Calls `perform`, and once more if the request's idle connection turned out to be gone before any of the response
  /// arrived.
  func repeating(
    _ request: HTTPRequest, _ perform: (HTTPRequest) throws(HTTPClientError) -> HTTPReply
  ) throws(HTTPClientError) -> HTTPReply {
    do {
      return try perform(request)
    } catch {
      guard isToBeRepeated else { throw error }
      var request = request
      request.isRepeat = true
      return try perform(request)
    }
  }

  // MARK: Options

  private func setTarget(_ request: HTTPRequest) throws(HTTPClientError) {
    guard let target = Target(request.url) else { throw .badURL(request.url) }
    guard request.method.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .badField(request.method) }
    set(CURLOPT_URL, request.url)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_REDIR_PROTOCOLS_STR, target.isSecure ? "https" : "http,https")
    set(CURLOPT_FOLLOWLOCATION, request.redirects > 0 ? 1 : 0)
    set(CURLOPT_MAXREDIRS, request.redirects)
    set(CURLOPT_CUSTOMREQUEST, request.method)
    set(CURLOPT_NOBODY, request.method == "HEAD" ? 1 : 0)
    set(CURLOPT_USERAGENT, "xcache")
    if request.decodes { set(CURLOPT_ACCEPT_ENCODING, "gzip, zstd") }
    // Negotiated by ALPN; without TLS it is HTTP/1.1.
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    if request.waitsForConnection { set(CURLOPT_PIPEWAIT, 1) }
    if request.isRepeat { set(CURLOPT_FRESH_CONNECT, 1) }
    // "Setting the proxy string to "" (an empty string) explicitly disables the use of a proxy, even if there is an
    // environment variable set for it."
    if !request.usesProxy { set(CURLOPT_PROXY, "") }
    if let authorities = request.authorities { set(CURLOPT_CAINFO, authorities) }
    if let certificates = request.authorityCertificates {
      let bytes = Array(certificates.utf8)
      _ = bytes.withUnsafeBytes { xcache_setopt_blob(handle, CURLOPT_CAINFO_BLOB, $0.baseAddress, $0.count) }
    }
    // A folder that libcurl was built with would be trusted besides them.
    if request.authorities != nil || request.authorityCertificates != nil {
      set(CURLOPT_CAPATH, pointer: nil)
    }
  }

  private func setLimits(_ request: HTTPRequest) {
    // libcurl-thread(3): signals for name lookups don't work with threads.
    set(CURLOPT_NOSIGNAL, 1)
    // Without this, a request that ends during the system's name lookup would block this thread until the lookup returns,
    // and with it every other request of a pool: 9.5 s were measured with a name server that doesn't answer.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_CONNECTTIMEOUT_MS, request.timeouts.connectMilliseconds)
    // One of many requests that share a slow line gets little of it.
    let least = request.timeouts.bytesPerSecond
    set(CURLOPT_LOW_SPEED_LIMIT, request.waitsForConnection ? min(32, least) : least)
    set(CURLOPT_LOW_SPEED_TIME, request.timeouts.stallSeconds)
    set(CURLOPT_TIMEOUT_MS, request.timeouts.totalMilliseconds)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_BUFFERSIZE, 262_144)
    set(CURLOPT_UPLOAD_BUFFERSIZE, 262_144)
  }

  private func setBody(_ request: HTTPRequest) {
    // "A client SHOULD NOT generate content in a HEAD request" (RFC 9110 §9.3.2); and CURLOPT_UPLOAD would undo CURLOPT_NOBODY.
    guard request.method != "HEAD" else { return }
    // "A user agent SHOULD send Content-Length in a request when the method defines a meaning for enclosed content" (RFC
    // 9110 §8.6), even if there is none.
    let hasMeaning = ["POST", "PUT", "PATCH"].contains(request.method)
    guard let length = request.body.length ?? (hasMeaning ? 0 : nil) else { return }
    set(CURLOPT_UPLOAD, 1)
    xcache_setopt_off(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(length))
  }

  private func setCallbacks(_ exchange: UnsafeMutableRawPointer) {
    xcache_setopt_callback(handle, CURLOPT_READFUNCTION) { buffer, size, count, context in
      guard let context, let buffer else { return Int(CURL_READFUNC_ABORT) }
      let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
      switch HTTPExchange.at(context).read(into: room) {
      case .bytes(let count): return count
      case .later: return Int(CURL_READFUNC_PAUSE)
      case .stop: return Int(CURL_READFUNC_ABORT)
      }
    }
    xcache_setopt_callback(handle, CURLOPT_WRITEFUNCTION) { buffer, size, count, context in
      guard let context else { return 0 }
      let bytes = UnsafeRawBufferPointer(start: buffer, count: size * count)
      switch HTTPExchange.at(context).write(bytes) {
      case .taken: return size * count
      case .later: return Int(CURL_WRITEFUNC_PAUSE)
      case .stop: return 0
      }
    }
    xcache_setopt_callback(handle, CURLOPT_HEADERFUNCTION) { buffer, size, count, context in
      guard let context else { return 0 }
      let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
      return HTTPExchange.at(context).header(line) ? size * count : 0
    }
    xcache_setopt_seek(handle) { context, offset, origin in
      guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
      HTTPExchange.at(context).seek(to: Int64(offset))
      return CURL_SEEKFUNC_OK
    }
    xcache_setopt_progress(handle) { context, _, _, _, _ in
      // At least once a second, and when bytes have arrived.
      Libcrypto.pause()
      guard let context else { return 0 }
      return HTTPExchange.at(context).progress() ? 0 : 1
    }
    xcache_setopt_prereq(handle) { context, _, local, _, port in
      guard let context, let local else { return CURL_PREREQFUNC_OK }
      let isReady = HTTPExchange.at(context).isReady(on: "\(String(cString: local)) \(port)")
      return isReady ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
    for option in [
      CURLOPT_PREREQDATA, CURLOPT_READDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_SEEKDATA,
      CURLOPT_XFERINFODATA,
    ] {
      set(option, pointer: exchange)
    }
    set(CURLOPT_NOPROGRESS, 0)
  }

  /// Has each address checked before a socket is made for it: a check of the name's addresses beforehand would be of another
  /// lookup.
  private func setAdmission(_ exchange: UnsafeMutableRawPointer) {
    xcache_setopt_opensocket(handle) { context, _, address in
      guard let context, let address else { return curl_socket_t(-1) }
      let bytes = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
        count = buffer.baseAddress.map { Int(xcache_socket_address(address, $0)) } ?? 0
      }
      // CURL_SOCKET_BAD: "Return CURL_SOCKET_BAD to signal an unrecoverable error"; libcurl goes on with the next address.
      return HTTPExchange.at(context).mayConnect(to: bytes) ? xcache_open_socket(address) : curl_socket_t(-1)
    }
    set(CURLOPT_OPENSOCKETDATA, pointer: exchange)
  }

  private func fieldList(of request: HTTPRequest) throws(HTTPClientError) -> UnsafeMutablePointer<curl_slist>?
  {
    var list: UnsafeMutablePointer<curl_slist>?
    for field in request.fields {
      let isSafe = { (byte: UInt8) in
        if request.takesControls { return byte != 0x0D && byte != 0x0A && byte != 0 }
        return byte >= 0x20 && byte != 0x7F || byte == 0x09
      }
      guard !field.name.isEmpty,
        field.name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }),
        field.value.utf8.allSatisfy(isSafe)
      else {
        curl_slist_free_all(list)
        throw .badField(field.name)
      }
      // libcurl's syntax for a field without a value (CURLOPT_HTTPHEADER(3)).
      let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
      list = (HeaderText.bytes(line) + [0]).withUnsafeBytes {
        curl_slist_append(list, $0.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    }
    // libcurl's syntax for leaving out a field of its own.
    return request.asksBeforeBody ? list : curl_slist_append(list, "Expect:")
  }

  // MARK: Errors

  private func error(_ code: CURLcode, _ url: String) -> HTTPClientError {
    let target = Target(url)
    let host = target?.host ?? url
    let port = target?.port ?? 0
    let reason = String(cString: curl_easy_strerror(code))
    switch code {
    case CURLE_URL_MALFORMAT: return redirected ? .redirect(reason: reason) : .badURL(url)
    // Also returned for a response that isn't HTTP/1, which libcurl takes for HTTP/0.9.
    case CURLE_UNSUPPORTED_PROTOCOL:
      return redirected
        ? .redirect(reason: reason)
        : .notHTTP(
          host: host,
          reason: target?.isSecure == false
            ? "it isn't HTTP; if it uses TLS, use https://" : "it isn't HTTP")
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .couldNotResolve(host: host)
    case CURLE_COULDNT_CONNECT: return .couldNotConnect(host: host, port: port)
    case CURLE_OPERATION_TIMEDOUT: return .timedOut(host: host, port: port)
    case CURLE_TOO_MANY_REDIRECTS: return .redirect(reason: reason)
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .tls(host: host, reason: details.pointee == 0 ? reason : String(cString: details))
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2,
      CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
      return hasBegun ? .cutOff(host: host, port: port) : .reset(host: host, port: port)
    case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
      return .notHTTP(host: host, reason: reason)
    default: return .failed(code: Int(code.rawValue), reason: reason)
    }
  }

  /// Whether the status line of a response arrived.
  private var hasBegun: Bool {
    var status = 0
    xcache_getinfo_long(handle, CURLINFO_RESPONSE_CODE, &status)
    return status > 0
  }

  private var redirected: Bool {
    var count = 0
    xcache_getinfo_long(handle, CURLINFO_REDIRECT_COUNT, &count)
    return count > 0
  }

  func set(_ option: CURLoption, _ value: Int) { xcache_setopt_long(handle, option, value) }
  private func set(_ option: CURLoption, _ value: String) { xcache_setopt_string(handle, option, value) }
  private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    xcache_setopt_pointer(handle, option, pointer)
  }
}

extension HTTPExchange {
  static func at(_ context: UnsafeMutableRawPointer) -> HTTPExchange {
    Unmanaged<HTTPExchange>.fromOpaque(context).takeUnretainedValue()
  }
}

/// Initialises libcurl once, and with it libcrypto.
private enum Library {
  static let isReady: Bool = {
    Libcrypto.keepUntilEnd()
    return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
  }()
}
