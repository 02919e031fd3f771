// swift-format-ignore-file
// A stand-in for Apple's Security framework and for Core Foundation's strings: what `Engines/Apple` uses of them.

import Dispatch

public final class CFString {}
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
