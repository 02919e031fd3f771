import System
import TestSupport
import Testing
import Trust

@testable import Publishing

/// Programs that sign.
@Suite struct SignCommandTests {
  private static let message = Envelope.message(
    payloadType: TrustHead.payloadType, payload: Array("{}".utf8) + Array(repeating: 0x20, count: 200_000))

  private static let environment = [
    "PATH": "/usr/bin:/bin", "XCACHE_TOKEN": "secret", "SLOT": "1234", "CARD_PIN": "987654",
  ]

  private static func command(_ text: String, _ key: TrustKey, limit: Int = 20_000) -> SignCommand {
    SignCommand(text, key: key, environment: environment, limit: limit)
  }

  private static func reason(_ command: SignCommand) -> String {
    do throws(SigningError) {
      _ = try command.sign(message)
      return ""
    } catch {
      guard case .command(_, let reason) = error else { return "\(error)" }
      return reason
    }
  }

  @Test func `openssl signs, in both ways of calling it`() throws {
    let scratch = try Scratch()
    let key = P256PrivateKey()
    let path = try scratch.write("a key.pem", key.pem())
    for text in [
      "openssl pkeyutl -sign -inkey '\(path)' -rawin -digest sha256", "openssl dgst -sha256 -sign '\(path)'",
      "openssl dgst -sha256 -binary | openssl pkeyutl -sign -inkey '\(path)' -pkeyopt digest:sha256",
    ] {
      let signature = try Self.command(text, key.trustKey).sign(Self.message)
      #expect(SystemVerifier().verifies(signature, of: Self.message, by: key.trustKey), "\(text)")
    }
  }

  @Test func `a signature counts only if the key verifies it`() throws {
    let scratch = try Scratch()
    let key = P256PrivateKey()
    let path = try scratch.write("key.pem", key.pem())
    let other = P256PrivateKey().trustKey
    #expect(
      Self.reason(Self.command("openssl dgst -sha256 -sign '\(path)'", other)).contains("doesn't verify"))
    // Signs something else than it was given.
    #expect(
      Self.reason(Self.command("echo x | openssl dgst -sha256 -sign '\(path)'", key.trustKey))
        .contains("doesn't verify"))
  }

  @Test(
    arguments: [
      ("exit 7", "exit code 7"), ("echo 'no card' >&2; exit 1", "no card"), ("true", "wrote nothing"),
      ("head -c 64 /dev/zero", "r and s"), ("echo hello", "6 bytes"), ("yes", "4097 bytes or more"),
      ("kill -9 $$", "signal 9"), ("nosuchprogram", "exit code 127"),
      ("cat >/dev/null; cat", "wrote nothing"),
    ])
  func `what goes wrong is said`(text: String, says: String) {
    let reason = Self.reason(Self.command(text, P256PrivateKey().trustKey))
    #expect(reason.contains(says), "\(reason)")
  }

  @Test func `it has a limit in time, which holds for what it starts, too`() {
    let start = Clock.monotonicNanoseconds()
    for text in ["sleep 60", "sleep 60 & wait", "(sleep 60 &) ; sleep 60"] {
      let reason = Self.reason(Self.command(text, P256PrivateKey().trustKey, limit: 300))
      #expect(reason.contains("took more than"), "\(reason)")
    }
    #expect(Clock.monotonicNanoseconds() - start < 30_000_000_000)
  }

  @Test func `it runs in its folder, whatever that is called`() throws {
    let scratch = try Scratch()
    let key = P256PrivateKey()
    let folder = try scratch.folder(
      "a '$HOME' \"b\"", ["key.pem": String(decoding: key.pem(), as: UTF8.self)])
    let command = SignCommand(
      "openssl dgst -sha256 -sign key.pem", key: key.trustKey, environment: Self.environment, folder: folder)
    let signature = try command.sign(Self.message)
    #expect(SystemVerifier().verifies(signature, of: Self.message, by: key.trustKey))
    let missing = SignCommand(
      "true", key: key.trustKey, environment: Self.environment, folder: scratch.path + "/none")
    #expect(!Self.reason(missing).isEmpty)
  }

  @Test func `it gets the variables, but no secrets of this program`() {
    let key = P256PrivateKey().trustKey
    let reason = Self.reason(Self.command("echo slot $SLOT, token [$XCACHE_TOKEN] >&2; exit 1", key))
    #expect(reason.contains("slot 1234, token []"), "\(reason)")
  }

  /// Logs of CI are read by many.
  @Test(
    arguments: [
      ("echo using --pin 55555 >&2; false --pin 55555", "55555"),
      ("echo 55555 >&2; false --login-pin=55555", "55555"),
      ("PIN=55555 sh -c 'echo $PIN >&2; exit 1'", "55555"),
      ("echo it is 'open sesame' >&2; false -passin 'pass:open sesame'", "sesame"),
      ("echo 55555 >&2; false -key 'pkcs11:token=card;pin-value=55555'", "55555"),
      ("echo $CARD_PIN >&2; exit 1", "987654"), ("nosuchprogram-$CARD_PIN", "987654"),
    ])
  func `a message has no PIN, though the command or what it says has`(text: String, secret: String) {
    let error = #expect(throws: SigningError.self) {
      try Self.command(text, P256PrivateKey().trustKey).sign(Self.message)
    }
    #expect(error.map { !"\($0)".contains(secret) } ?? false, "\(String(describing: error))")
  }

  @Test func `the program is called by its name alone`() {
    for (command, name) in [
      ("/usr/bin/pkcs11-tool --pin 1234", "pkcs11-tool"), ("PIN=1234 openssl dgst", "openssl"),
      ("PIN='12 34' openssl dgst", "a command"), ("(sleep 60 &)", "a command"), ("", "a command"),
      ("'my tool' --pin 1", "a command"), ("aws kms sign", "aws"),
    ] {
      #expect(SignerSecrets.program(of: command) == name, "\(command)")
    }
  }
}
