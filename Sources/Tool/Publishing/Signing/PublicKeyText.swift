import System
import Trust

extension TrustKey {
  /// The largest file that is read, in bytes.
  private static let limit = 1 << 16

  /// Reads a public key: its base64, or a file with that, with PEM (`BEGIN PUBLIC KEY`) or with DER.
  package init(reading place: String) throws(SigningError) {
    if let key = TrustKey(base64: place) {
      self = key
      return
    }
    let bytes: [UInt8]?
    do throws(SystemError) {
      bytes = try DurableFile.read(place, limit: Self.limit)
    } catch {
      throw .unreadable(path: place, error.reason)
    }
    guard let bytes else { throw .unreadable(path: place, "no such file, nor is it a public key in base64") }
    guard let key = TrustKey(spki: bytes) ?? TrustKey(text: String(decoding: bytes, as: UTF8.self)) else {
      throw .notAPublicKey(path: place)
    }
    self = key
  }

  /// Reads PEM, or base64.
  private init?(text: String) {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { !$0.isWhitespace } }
    guard let start = lines.firstIndex(of: "-----BEGINPUBLICKEY-----") else {
      self.init(base64: lines.joined())
      return
    }
    guard let end = lines.firstIndex(of: "-----ENDPUBLICKEY-----"), start < end else { return nil }
    self.init(base64: lines[(start + 1)..<end].joined())
  }

  /// The key as PEM.
  package var pem: String {
    let digits = Array(base64.utf8)
    let lines = stride(from: 0, to: digits.count, by: 64).map {
      String(decoding: digits[$0..<min($0 + 64, digits.count)], as: UTF8.self) + "\n"
    }
    return "-----BEGIN PUBLIC KEY-----\n\(lines.joined())-----END PUBLIC KEY-----\n"
  }
}
