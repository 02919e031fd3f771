import System
import Testing
import Values

@testable import Origin

@Suite struct SignInLogTests {
  @Test func refusalsAreLoggedAndLimited() {
    let lines = Locked([String]())
    let log = SignInLog { line in lines.withLock { $0.append(line) } }
    for _ in 0..<40 { log.noteRefusal(.signIn, "state", "a\nb", from: .loopback, now: 1) }
    #expect(lines.withLock { $0.count } == SignInLog.linesPerMinute)
    #expect(lines.withLock { $0[0] } == "warning: sign-in from 127.0.0.1 refused (state): a b")
    log.noteRefusal(.trade, "expired", "x", from: .loopback, now: 60_000_000_002)
    #expect(
      lines.withLock { Array($0.suffix(2)) } == [
        "warning: 10 more refused sign-ins went unlogged",
        "warning: trade from 127.0.0.1 refused (expired): x",
      ])
    #expect(log.metrics.contains("xcache_sign_ins_total{outcome=\"state\"} 40"))
    #expect(log.metrics.contains("xcache_trades_total{outcome=\"expired\"} 1"))
  }
}
