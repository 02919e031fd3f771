import CCrypto
import System
import Values

/// A key that an issuer signs with, of each kind that is accepted.
enum TestKey: Sendable {
  case rsa(RSATestKey)
  case p256(P256PrivateKey)
  case ed25519(SigningKey)

  static let rsaKey = TestKey.rsa(RSATestKey.shared)
  static let p256Key = TestKey.p256(P256PrivateKey())
  static let ed25519Key = TestKey.ed25519(SigningKey())
  static let all: [TestKey] = [rsaKey, p256Key, ed25519Key]

  var algorithm: String {
    switch self {
    case .rsa: "RS256"
    case .p256: "ES256"
    case .ed25519: "EdDSA"
    }
  }

  /// The public key's members.
  var members: [String: String] {
    switch self {
    case .rsa(let key):
      ["kty": "RSA", "n": Base64URL.encode(key.modulus), "e": Base64URL.encode(key.exponent)]
    case .p256(let key):
      [
        "kty": "EC", "crv": "P-256", "x": Base64URL.encode(Array(key.publicKey.suffix(64).prefix(32))),
        "y": Base64URL.encode(Array(key.publicKey.suffix(32))),
      ]
    case .ed25519(let key): ["kty": "OKP", "crv": "Ed25519", "x": Base64URL.encode(key.publicKey)]
    }
  }

  func jwk(_ id: String? = nil, _ others: [String: JSONValue] = [:]) -> JSONValue {
    var object = JSONObject()
    for (name, value) in members { object[name] = .string(value) }
    if let id { object["kid"] = .string(id) }
    for (name, value) in others { object[name] = value }
    return .object(object)
  }

  func sign(_ message: [UInt8]) -> [UInt8] {
    switch self {
    case .rsa(let key): key.sign(message)
    case .p256(let key): Self.raw(key.sign(message))
    case .ed25519(let key): key.sign(message)
    }
  }

  /// r and s of a signature in DER.
  private static func raw(_ der: [UInt8]) -> [UInt8] {
    func number(at start: Int) -> [UInt8] {
      let digits = der[(start + 2)..<(start + 2 + Int(der[start + 1]))].drop { $0 == 0 }
      return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }
    return number(at: 2) + number(at: 4 + Int(der[3]))
  }
}

/// An RSA key; made by libcrypto, since nothing but tests signs with one.
final class RSATestKey: @unchecked Sendable {  // libcrypto's key is immutable once it is made
  static let shared = RSATestKey(bits: 2048)

  private let key: OpaquePointer
  let modulus: [UInt8]
  let exponent: [UInt8]

  init(bits: Int32) {
    Libcrypto.keepUntilEnd()
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1,
      EVP_PKEY_keygen(context, &made) == 1, let made
    else { fatalError("no RSA key") }
    key = made
    modulus = Self.number("n", of: made)
    exponent = Self.number("e", of: made)
  }

  deinit { EVP_PKEY_free(key) }

  private static func number(_ name: String, of key: OpaquePointer) -> [UInt8] {
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { fatalError("no \(name)") }
    defer { BN_free(number) }
    let count = Int(BN_num_bits(number) + 7) / 8
    return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
      initialized = Int(BN_bn2bin(number, out.baseAddress))
    }
  }

  func sign(_ message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { fatalError("no signature") }
    var count = 1024
    return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
      guard EVP_DigestSign(context, out.baseAddress, &count, message, message.count) == 1 else {
        fatalError("no signature")
      }
      initialized = count
    }
  }
}
