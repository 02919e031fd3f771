import Glibc
import System
import Testing

@Suite struct ExitTests {
  /// An app doesn't know that libcrypto is in it: each first use keeps libcrypto from being freed at exit, while other threads
  /// may still be hashing.
  @Test(arguments: 0..<4) func libcryptoOutlivesExitHandlers(use: Int) async {
    await #expect(processExitsWith: .exitCode(7)) { [use = use as Int] in
      // The last handler to run, since it is the first that was registered.
      atexit {
        let isUsable =
          SHA256.of(Array("abc".utf8)).hex.hasPrefix("ba7816bf") && Secrets.random(16).count == 16
        _exit(isUsable ? 7 : 8)
      }
      switch use {
      case 0: _ = SHA256.of([1])
      case 1: _ = Secrets.random(16)
      case 2:
        _ = Ed25519.verifies([UInt8](repeating: 0, count: 64), of: [], by: [UInt8](repeating: 0, count: 32))
      default: _ = P256PrivateKey()
      }
      exit(0)
    }
  }
}
