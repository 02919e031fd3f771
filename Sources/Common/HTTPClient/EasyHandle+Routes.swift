import CCurl

extension EasyHandle {
  /// Returns the list for CURLOPT_RESOLVE, which sets the addresses of a host (`HOST:PORT:ADDRESS,…`) or returns it to the
  /// system's resolution (`-HOST:PORT` removes an earlier entry).
  func resolveList(of request: HTTPRequest) throws(HTTPClientError) -> UnsafeMutablePointer<curl_slist>? {
    guard let addresses = request.addresses, let target = Target(request.url) else { return nil }
    let server = "\(target.host):\(target.port)"
    guard !addresses.isEmpty else { return curl_slist_append(nil, "-\(server)") }
    let isAddress = { (byte: UInt8) in
      (0x30...0x3A).contains(byte) || (0x61...0x66).contains(byte) || byte == UInt8(ascii: ".")
        || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
    }
    guard addresses.allSatisfy({ $0.utf8.allSatisfy(isAddress) }) else {
      throw .badURL(addresses.joined(separator: ","))
    }
    return curl_slist_append(nil, "\(server):\(addresses.joined(separator: ","))")
  }

  /// Returns the route of the last request.
  func route(isSecure: Bool) -> HTTPRoute {
    var text: UnsafeMutablePointer<CChar>?
    xcache_getinfo_string(handle, CURLINFO_PRIMARY_IP, &text)
    let address = text.map { String(cString: $0) } ?? ""
    var made = 0
    xcache_getinfo_long(handle, CURLINFO_NUM_CONNECTS, &made)
    let (named, connected) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
    let ready = isSecure ? time(CURLINFO_APPCONNECT_TIME_T) : connected
    return HTTPRoute(
      address: address.isEmpty ? nil : address, isNew: made > 0,
      connectMilliseconds: Int(clamping: max(0, connected - named) / 1000),
      isReady: made == 0 ? !address.isEmpty : ready > 0)
  }

  /// Microseconds since the start of the request.
  private func time(_ info: CURLINFO) -> curl_off_t {
    var time: curl_off_t = 0
    xcache_getinfo_off(handle, info, &time)
    return time
  }
}
