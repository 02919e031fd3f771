#if canImport(Network)
  import Foundation
  import Network
  import Security
  import System

  /// Keys and certificates of this device's own, one of each for a host, made when the host is first asked for.
  ///
  /// Network.framework serves TLS with an identity of the keychain alone, so that a key stays there for as long as this lives; what
  /// a process that was ended left is removed at the next start. It never leaves the device, and no certificate can sign another.
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

    /// Hosts that certificates are made for at most.
    private static let mostHosts = 256
    private static let label = "xcache page proxy"

    init() { Self.removeAll() }

    deinit { Self.removeAll() }

    /// What is shown an engine for `host`; nil where it can't be made, which is tried once.
    func own(for host: String) -> Own? {
      own.withLock { own in
        if let found = own[host] { return found }
        guard own.count < Self.mostHosts else { return nil }
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
        // An update in the background may come before the first look at the screen, but not before the first unlock.
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
      // A clock that is set back a little still finds it good. Engines take no certificate for longer than 825 days.
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
