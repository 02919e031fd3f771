import Glibc
import Testing
import TestSupport

@testable import Origin

/// Random lives of a protected channel beside a simple model of them: people with several sessions, tokens and jobs ask, approve, reject
/// and take back; requests are sent again, through two event loops and after kills; the protection changes, tokens are revoked, days
/// pass. No act is carried out without its approvals, none twice, none is lost, and what never waits never does.
///
/// 40 seeds by default; XCACHE_APPROVAL_SEEDS=300 runs 300 (`make test-approvals-model`).
@Suite struct ApprovalModelTests {
  private static let seeds =
    1...max(1, getenv("XCACHE_APPROVAL_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 40)

  @Test(arguments: seeds) func life(seed: UInt64) throws {
    let life = try ApprovalLife(seed: seed)
    for step in 0..<60 {
      try life.act()
      try life.check("seed \(seed), step \(step)")
    }
    try life.finish()
    try life.check("seed \(seed), the end")
  }
}
