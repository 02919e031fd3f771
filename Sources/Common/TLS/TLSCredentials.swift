import CSSL
import System

/// A certificate, its chain and its key.
package final class TLSCredentials: @unchecked Sendable {
  // Unchecked: what libcrypto has parsed is never changed, and libcrypto counts references atomically.
  let leaf: OpaquePointer
  let chain: [OpaquePointer]
  let key: OpaquePointer
  /// The name shown to people: the certificate's first host name, or its subject.
  package let name: String
  /// The certificate's host names, including wildcards.
  package let hosts: [String]
  /// When the certificate expires, in seconds since 1970.
  package let expires: Int64
  /// Whether every user of the machine may read the key's file.
  package let isKeyOpenToAll: Bool

  /// In bytes; a chain and a key are a few kilobytes.
  private static let limit = 1 << 20

  /// Reads both files, in PEM format; they may be the same file.
  package init(certificate path: String, key keyPath: String) throws(TLSError) {
    Libcrypto.keepUntilEnd()
    var certificates = Certificates()
    try certificates.read(path)
    guard let leaf = certificates.first else { throw .noCertificate(path: path) }
    key = try Self.key(keyPath)
    hosts = Self.hosts(of: leaf)
    name = hosts.first ?? Self.subject(of: leaf)
    expires = Self.notAfter(of: leaf)
    isKeyOpenToAll = ((try? Kernel.status(keyPath))??.mode ?? 0) & 0o007 != 0
    self.leaf = leaf
    chain = Array(certificates.owned.dropFirst())
    certificates.owned = []
    defer { ERR_clear_error() }
    if X509_check_private_key(leaf, key) != 1 {
      throw .keyMismatch(certificate: path, key: keyPath, name: name)
    }
  }

  deinit {
    X509_free(leaf)
    for certificate in chain { X509_free(certificate) }
    EVP_PKEY_free(key)
  }

  /// Whether the certificate is valid for a host name or an address.
  package func covers(host: String) -> Bool {
    X509_check_ip_asc(leaf, host, 0) == 1 || X509_check_host(leaf, host, host.utf8.count, 0, nil) == 1
  }

  // MARK: Reading

  /// Certificates that were read and that nothing else frees yet.
  private struct Certificates: ~Copyable {
    var owned: [OpaquePointer] = []

    var first: OpaquePointer? { owned.first }

    mutating func read(_ path: String) throws(TLSError) {
      let text = try TLSCredentials.text(path)
      try TLSCredentials.withBuffer(text) { (buffer) throws(TLSError) in
        while let certificate = PEM_read_bio_X509(buffer, nil, nil, nil) { owned.append(certificate) }
        defer { ERR_clear_error() }
        if xcache_ended_without_more() == 0 {
          throw .damagedCertificate(path: path, number: owned.count + 1)
        }
      }
    }

    deinit { for certificate in owned { X509_free(certificate) } }
  }

  private static func key(_ path: String) throws(TLSError) -> OpaquePointer {
    let text = try text(path)
    let key = withBuffer(text) { xcache_read_key($0) }
    defer { ERR_clear_error() }
    if let key { return key }
    throw String(decoding: text, as: UTF8.self).contains("ENCRYPTED")
      ? .encryptedKey(path: path) : .noKey(path: path)
  }

  private static func text(_ path: String) throws(TLSError) -> [UInt8] {
    let kind: FileStatus.Kind?
    do throws(SystemError) {
      kind = try Kernel.status(path)?.kind
      if kind == .file, let text = try DurableFile.read(path, limit: limit) { return text }
    } catch {
      if error.code == .fileTooLarge { throw .tooLarge(path: path) }
      throw .unreadable(SystemError(error.call, on: path, code: error.code))
    }
    if let kind, kind != .file { throw .notAFile(path: path) }
    throw .unreadable(SystemError("open", on: path, code: .noSuchFileOrDirectory))
  }

  private static func withBuffer<Result, Failure: Error>(
    _ text: [UInt8], _ body: (OpaquePointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let buffer = text.withUnsafeBytes { bytes -> OpaquePointer? in
      // BIO_new_mem_buf(3) doesn't copy the bytes, which would have to outlive it, so they are written to a buffer.
      let buffer = BIO_new(BIO_s_mem())
      if let buffer, !bytes.isEmpty { BIO_write(buffer, bytes.baseAddress, Int32(bytes.count)) }
      return buffer
    }
    defer { BIO_free(buffer) }
    return try body(buffer)
  }

  private static func hosts(of certificate: OpaquePointer) -> [String] {
    var hosts: [String] = []
    var buffer = [CChar](repeating: 0, count: 256)
    while hosts.count < 1_000 {
      let length = Int(xcache_host_name(certificate, Int32(hosts.count), &buffer, Int32(buffer.count)))
      guard length > 0 else { break }
      hosts.append(String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    return hosts
  }

  private static func subject(of certificate: OpaquePointer) -> String {
    var buffer = [CChar](repeating: 0, count: 1024)
    let length = Int(xcache_subject(certificate, &buffer, Int32(buffer.count)))
    return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func notAfter(of certificate: OpaquePointer) -> Int64 {
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1 else { return 0 }
    return Clock.unixMilliseconds() / 1000 + Int64(days) * 86_400 + Int64(seconds)
  }
}
