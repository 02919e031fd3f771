import Glibc
import System
import TestSupport
import Testing
import Trust

@testable import Publishing

/// Private keys in files and variables.
@Suite struct KeyFileTests {
  private static let message = Envelope.message(payloadType: "text/plain", payload: Array("hello".utf8))

  private static func verifies(_ signer: any StatementSigner) throws -> Bool {
    SystemVerifier().verifies(try signer.sign(message), of: message, by: signer.key)
  }

  @Test func `a made key is its owner's, has its passphrase, and is never overwritten`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/release.key"
    let made = try KeyFile.make(at: path, passphrase: Array("correct horse".utf8))
    #expect(try Kernel.status(path)?.mode == 0o600)
    let text = String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self)
    #expect(text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
    #expect {
      try KeyFile.make(at: path, passphrase: nil)
    } throws: {
      ($0 as? SystemError)?.code == .fileExists
    }
    #expect(String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self) == text)
    let read = try KeyFile(path: path) { place in
      #expect(place == path)
      return Array("correct horse".utf8)
    }
    #expect(read.key == made.key)
    #expect(try Self.verifies(read))
  }

  @Test func `a wrong or missing passphrase, and what others may read, is said`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/release.key"
    _ = try KeyFile.make(at: path, passphrase: Array("a".utf8))
    #expect(throws: SigningError.notAKey(path: path, .needsPassphrase)) {
      try KeyFile(path: path) { _ in nil }
    }
    #expect(throws: SigningError.notAKey(path: path, .wrongPassphrase)) {
      try KeyFile(path: path) { _ in Array("b".utf8) }
    }
    try Kernel.setMode(path, to: 0o640)
    #expect(throws: SigningError.openToOthers(path: path)) {
      try KeyFile(path: path) { _ in Array("a".utf8) }
    }
    #expect(throws: SigningError.unreadable(path: path + "2", "no such file")) {
      try KeyFile(path: path + "2") { _ in nil }
    }
    // Nobody is asked for a passphrase that a key hasn't got.
    let plain = scratch.path + "/plain.key"
    _ = try KeyFile.make(at: plain, passphrase: nil)
    #expect(
      try Self.verifies(
        KeyFile(path: plain) { _ in
          Issue.record("asked")
          return nil
        }))
  }

  @Test func `a variable has a path or the key, also on one line`() throws {
    let pem = String(decoding: P256PrivateKey().pem(), as: UTF8.self)
    #expect(SignerSettings(variable: "XCACHE_SIGN_KEY", "ci/release.key") == .file("ci/release.key"))
    let flat = pem.split(separator: "\n").joined(separator: "\\n")
    let spaced = pem.split(separator: "\n").joined(separator: " ")
    for value in [pem, String(pem.dropLast()), flat, spaced, spaced + " "] {
      let signer = try SignerSettings(variable: "XCACHE_SIGN_KEY", value)
        .signer(environment: [:]) { _ in nil }
      #expect(try Self.verifies(signer))
    }
    // The key is in no message.
    let broken = pem.replacing("MI", with: "!!")
    #expect(throws: SigningError.notAKey(path: "XCACHE_SIGN_KEY", .notAKey)) {
      try SignerSettings(variable: "XCACHE_SIGN_KEY", broken).signer(environment: [:]) { _ in nil }
    }
  }

  @Test func `a key that was cut off isn't one with another passphrase`() throws {
    let pem = String(decoding: P256PrivateKey().pem(passphrase: Array("correct horse".utf8)), as: UTF8.self)
    let lines = pem.split(separator: "\n")
    for text in [lines.dropLast().joined(separator: "\n"), String(pem.dropLast(20)), String(lines[0])] {
      #expect(throws: SigningError.cutOff(path: "XCACHE_SIGN_KEY")) {
        try SignerSettings(variable: "XCACHE_SIGN_KEY", text).signer(environment: [:]) { _ in
          Issue.record("asked")
          return nil
        }
      }
    }
    #expect("\(SigningError.cutOff(path: "x"))".contains("isn't a whole PEM"))
  }

  @Test func `public keys are read in each form, and written as PEM`() throws {
    let scratch = try Scratch()
    let key = P256PrivateKey().trustKey
    let forms = [
      key.base64, try scratch.write("a.pem", key.pem), try scratch.write("a.der", key.spki),
      try scratch.write("a.b64", key.base64 + "\n"),
      try scratch.write("crlf.pem", key.pem.replacing("\n", with: "\r\n")),
    ]
    for form in forms { #expect(try TrustKey(reading: form) == key) }
    let other = try scratch.write("other.pem", P256PrivateKey().pem())
    #expect(throws: SigningError.notAPublicKey(path: other)) { try TrustKey(reading: other) }
    #expect(throws: SigningError.self) { try TrustKey(reading: scratch.path + "/none") }
  }
}
