#if canImport(Network)
  import Foundation
  import Network
  import Security
  import System

  /// This device's own keys and certificates, one of each per host, made when a host is first asked for.
  ///
  /// Network.framework only serves TLS with an identity from the keychain, so each key is kept there for as long as this
  /// object lives; what a terminated process left is removed at the next start. Keys never leave the device, and no
  /// certificate can sign another.
  final class OwnIdentities: Sendable {
    /// Unchecked: an identity never changes.
    struct Own: @unchecked Sendable {  // see above
      /// For a listener.
      let identity: sec_identity_t
      /// In DER.
      let certificate: [UInt8]
    }

    /// Nil for a host whose certificate couldn't be made.
    private let own = Locked<[String: Own?]>([:])

    /// The most hosts that get a certificate.
    private static let maxHosts = 256
    private static let label = "xcache page proxy"

    init() { Self.removeAll() }

    deinit { Self.removeAll() }

    /// Returns what to show an engine for `host`; nil if it can't be made, which is only tried once.
    func own(for host: String) -> Own? {
      own.withLock { own in
        if let found = own[host] { return found }
        guard own.count < Self.maxHosts else { return nil }
        let made = Self.make(for: host)
        own[host] = made
        return made
      }
    }

    private static func make(for host: String) -> Own? {
      let tag = CFDataCreate(nil, Array("\(label) \(host)".utf8), label.utf8.count + 1 + host.utf8.count)
      guard let tag else { return nil }
      let kept: [AnyHashable: Any] = [
        kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag, kSecAttrLabel: label,
        // A background update may run before anyone looks at the screen, but not before the first unlock.
        kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      let wanted: [AnyHashable: Any] = [
        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        kSecUseDataProtectionKeychain: true, kSecPrivateKeyAttrs: NSDictionary(dictionary: kept),
      ]
      guard let key = SecKeyCreateRandomKey(NSDictionary(dictionary: wanted) as CFDictionary, nil),
        let der = certificate(for: host, by: key),
        let data = CFDataCreate(nil, der, der.count),
        let certificate = SecCertificateCreateWithData(nil, data)
      else { return nil }
      let item: [AnyHashable: Any] = [
        kSecClass: kSecClassCertificate, kSecValueRef: certificate, kSecAttrLabel: label,
        kSecUseDataProtectionKeychain: true,
        kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      guard SecItemAdd(NSDictionary(dictionary: item) as CFDictionary, nil) == errSecSuccess,
        let identity = identity(tag), let wrapped = sec_identity_create(identity)
      else { return nil }
      return Own(identity: wrapped, certificate: der)
    }

    private static func certificate(for host: String, by key: SecKey) -> [UInt8]? {
      guard let publicKey = SecKeyCopyPublicKey(key),
        let point = SecKeyCopyExternalRepresentation(publicKey, nil)
      else { return nil }
      let now = Clock.unixMilliseconds() / 1000
      // Valid from a day ago, in case the clock is set back a little. Engines reject certificates valid for more than 825
      // days.
      let body = OwnCertificate.body(
        host: host, key: Array(point), serial: Secrets.random(16),
        seconds: now - 86_400..<now + 365 * 86_400)
      guard let data = CFDataCreate(nil, body, body.count),
        let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, data, nil)
      else { return nil }
      return OwnCertificate.whole(body, signature: Array(signature))
    }

    private static func identity(_ tag: CFData) -> SecIdentity? {
      let query: [AnyHashable: Any] = [
        kSecClass: kSecClassIdentity, kSecAttrApplicationTag: tag, kSecReturnRef: true,
        kSecMatchLimit: kSecMatchLimitOne, kSecUseDataProtectionKeychain: true,
      ]
      var found: CFTypeRef?
      guard SecItemCopyMatching(NSDictionary(dictionary: query) as CFDictionary, &found) == errSecSuccess,
        let found, CFGetTypeID(found) == SecIdentityGetTypeID()
      else { return nil }
      return unsafeDowncast(found, to: SecIdentity.self)
    }

    private static func removeAll() {
      for kind in [kSecClassKey, kSecClassCertificate] {
        let query: [AnyHashable: Any] = [
          kSecClass: kind, kSecAttrLabel: label, kSecUseDataProtectionKeychain: true,
        ]
        _ = SecItemDelete(NSDictionary(dictionary: query) as CFDictionary)
      }
    }
  }

  extension Array<UInt8> {
    init(_ data: CFData) {
      self.init(UnsafeBufferPointer(start: CFDataGetBytePtr(data), count: CFDataGetLength(data)))
    }
  }
#endif
