import SocketServer
import System
import Testing

@testable import HTTPClient

@Suite struct AddressScopeTests {
  @Test(
    arguments: [
      ([1, 1, 1, 1], .global), ([172, 15, 0, 1], .global), ([172, 32, 0, 1], .global),
      ([100, 63, 0, 1], .global),
      ([100, 128, 0, 1], .global), ([192, 167, 1, 1], .global), ([198, 17, 0, 1], .global),
      ([223, 255, 255, 255], .global), ([10, 0, 0, 1], .network), ([172, 16, 0, 1], .network),
      ([172, 31, 255, 255], .network), ([192, 168, 0, 1], .network), ([127, 0, 0, 1], .network),
      ([127, 255, 0, 9], .network), ([100, 64, 0, 1], .network), ([100, 127, 0, 1], .network),
      ([0, 0, 0, 0], .special), ([169, 254, 169, 254], .special), ([224, 0, 0, 1], .special),
      ([255, 255, 255, 255], .special), ([198, 18, 0, 1], .special), ([192, 0, 2, 1], .special),
      ([203, 0, 113, 9], .special), ([192, 88, 99, 1], .special), ([192, 88, 98, 1], .global),
    ] as [([UInt8], AddressScope)])
  func scopesOfIPv4(bytes: [UInt8], scope: AddressScope) { #expect(AddressScope(bytes) == scope) }

  @Test(
    arguments: [
      ("20010db8", 1, .special), ("2606470047000000", 1, .global), ("2400cb00", 9, .global),
      ("00000000", 1, .network), ("00000000", 0, .special), ("fe80", 1, .special), ("fec0", 1, .special),
      ("fd00", 1, .network), ("fc12", 1, .network), ("ff02", 1, .special), ("2002", 1, .special),
      ("2001", 1, .special), ("00000000000000000000ffff7f000001", nil, .special),
      ("00000000000000000000ffff01010101", nil, .special),
      ("0000000000000000000000007f000001", nil, .special),
      ("0064ff9b000000000000000001010101", nil, .global), ("0064ff9b00000000000000000a000001", nil, .network),
      ("0064ff9b0000000000000000a9fea9fe", nil, .special), ("0064ff9b0001", 1, .special),
      ("20020a000001", 1, .special), ("3fff0fff", 1, .special), ("3fff1000", 1, .global),
    ] as [(String, UInt8?, AddressScope)])
  func scopesOfIPv6(prefix: String, last: UInt8?, scope: AddressScope) throws {
    var bytes = try #require(Hex.decode(prefix, count: prefix.count / 2))
    if let last { bytes += [UInt8](repeating: 0, count: 15 - bytes.count) + [last] }
    #expect(AddressScope(bytes) == scope)
  }

  @Test func addressesOfUnknownFamiliesAreSpecial() { #expect(AddressScope([1, 2, 3]) == .special) }

  // MARK: - Connections

  @Test func addressesThatAreNotAdmittedAreNotConnectedTo() throws {
    let server = SocketServer { _ in .answer(200) }
    var request = HTTPRequest("GET", server.url)
    let asked = Locked<[[UInt8]]>([])
    request.admits = { address in
      asked.withLock { $0.append(address) }
      return false
    }
    #expect(refused(request) == [127, 0, 0, 1])
    #expect(asked.withLock { $0 } == [[127, 0, 0, 1]])
    request.admits = { $0 == [127, 0, 0, 1] }
    #expect(try HTTPClient().send(request).status == 200)
  }

  /// Other spellings of the loopback address, as in a URL or a hosts file.
  @Test(arguments: ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"])
  func otherSpellingsAreChecked(host: String) throws {
    let server = SocketServer { _ in .answer(200) }
    let port = server.url.split(separator: ":").last.map(String.init) ?? ""
    var request = HTTPRequest("GET", "http://\(host):\(port)")
    request.admits = { AddressScope($0) == .global }
    #expect(refused(request) != nil)
  }

  /// The address because of which a request was refused; nil if it wasn't.
  private func refused(_ request: HTTPRequest) -> [UInt8]? {
    let result = Result { () throws(HTTPClientError) in try HTTPClient().send(request) }
    guard case .failure(.refusedAddress(_, let address)) = result else { return nil }
    return address
  }
}
