// swift-format-ignore-file
// A stand-in for Apple's Security framework and for Core Foundation's strings: what `Sources/Device/DeviceApple` uses of them.

import Dispatch

public final class CFString: Hashable, @unchecked Sendable {
  public init() {}
  public static func == (a: CFString, b: CFString) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
}
public final class CFData {}
public final class CFArray {}
public final class CFDictionary {
  public init(dictionary: [AnyHashable: Any]) {}
}
public typealias CFIndex = Int
public typealias CFTypeID = UInt
public typealias CFTypeRef = AnyObject
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID { 0 }
public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { 0 }
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! { nil }
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) -> CFData! { nil }
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { 0 }
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! { nil }
public final class CFAllocator {}
public enum CFStringBuiltInEncodings: UInt32, Sendable { case UTF8 = 134217984 }
public func CFStringCreateWithCString(
  _ alloc: CFAllocator?, _ cStr: UnsafePointer<CChar>?, _ encoding: UInt32
) -> CFString! { nil }
public final class CFError {}
public final class SecTrust {}
public final class SecPolicy {}
public typealias OSStatus = Int32

public final class sec_protocol_options_t {}
public final class sec_protocol_metadata_t {}
public final class sec_trust_t {}

public typealias sec_protocol_verify_complete_t = @Sendable (Bool) -> Void
public typealias sec_protocol_verify_t =
  @Sendable (sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t) -> Void

public func sec_protocol_options_set_tls_server_name(_ options: sec_protocol_options_t, _ server_name: UnsafePointer<CChar>) {}
public func sec_protocol_options_add_tls_application_protocol(
  _ options: sec_protocol_options_t, _ application_protocol: UnsafePointer<CChar>
) {}
public func sec_protocol_options_set_verify_block(
  _ options: sec_protocol_options_t, _ verify_block: @escaping sec_protocol_verify_t, _ verify_block_queue: DispatchQueue
) {}
public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> { Unmanaged.passRetained(SecTrust()) }
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: SecPolicy) -> OSStatus { 0 }
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { true }

// MARK: - Keys, certificates, the keychain

public final class SecKey {}
public final class SecCertificate {}
public final class SecIdentity {}
public final class sec_identity_t {}
public enum tls_protocol_version_t: UInt16, Sendable { case TLSv12 = 0x0303, TLSv13 = 0x0304 }

public struct SecKeyAlgorithm: Hashable, Sendable {
  public static var ecdsaSignatureMessageX962SHA256: SecKeyAlgorithm { SecKeyAlgorithm() }
}

public func SecKeyCreateRandomKey(_ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SecKey? { nil }
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { nil }
public func SecKeyCopyExternalRepresentation(
  _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { nil }
public func SecKeyCreateSignature(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { nil }
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
public func SecIdentityGetTypeID() -> CFTypeID { 0 }
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
public var errSecSuccess: OSStatus { 0 }
public var errSSLClosedNoNotify: OSStatus { -9816 }

public func sec_identity_create(_ identity: SecIdentity) -> sec_identity_t? { nil }
public func sec_protocol_options_set_local_identity(_ options: sec_protocol_options_t, _ identity: sec_identity_t) {}
public func sec_protocol_options_set_min_tls_protocol_version(_ options: sec_protocol_options_t, _ version: tls_protocol_version_t) {}

public let kSecClass = CFString()
public let kSecClassCertificate = CFString()
public let kSecClassIdentity = CFString()
public let kSecClassKey = CFString()
public let kSecValueRef = CFString()
public let kSecReturnRef = CFString()
public let kSecMatchLimit = CFString()
public let kSecMatchLimitOne = CFString()
public let kSecAttrLabel = CFString()
public let kSecAttrKeyType = CFString()
public let kSecAttrKeyTypeECSECPrimeRandom = CFString()
public let kSecAttrKeySizeInBits = CFString()
public let kSecAttrIsPermanent = CFString()
public let kSecAttrApplicationTag = CFString()
public let kSecAttrAccessible = CFString()
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = CFString()
public let kSecPrivateKeyAttrs = CFString()
public let kSecUseDataProtectionKeychain = CFString()
