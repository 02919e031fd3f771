import OriginAPI
import OriginClient
import System
import Testing
import Values

/// Problem details (RFC 9457): written, read, and damaged in transit.
@Suite struct ProblemTests {
  private static func problem(_ body: String) -> Problem? { Problem(status: 409, body: Array(body.utf8)) }

  @Test func roundTrips() throws {
    var members = JSONObject()
    members["limit"] = 7
    let problem = Problem(
      status: 409, title: "Conflict", code: "url-conflict", detail: "it is taken", members: members)
    let text =
      #"{"code":"url-conflict","detail":"it is taken","limit":7,"status":409,"title":"Conflict","type":"about:blank"}"#
    #expect(String(decoding: problem.document.canonical, as: UTF8.self) == text)
    #expect(Self.problem(text) == problem)
  }

  /// The status is that of the response, not of its body.
  @Test func minimalProblem() throws {
    let problem = try #require(Self.problem(#"{"code":"x","status":200}"#))
    #expect(problem.title == "x" && problem.detail == nil && problem.status == 409)
    #expect(problem.members.members.isEmpty && problem.message == "x")
  }

  @Test(arguments: [
    "", "{", "[]", "null", "\"code\"", "{}", #"{"code":7}"#, #"{"title":"No"}"#, #"{"code":"a","code":"b"}"#,
  ])
  func bodiesWithoutAProblem(body: String) { #expect(Self.problem(body) == nil) }

  /// A hostile server may send terminal escape sequences.
  @Test func controlCharactersAreReplaced() throws {
    let body = #"{"code":"x","detail":"a\n\u001b[2Jb\u0000c\u0085d","title":"T\rU"}"#
    let problem = try #require(Self.problem(body))
    #expect(problem.detail == "a\n  \u{FFFD}[2Jb\u{FFFD}c\u{FFFD}d" && problem.title == "T\u{FFFD}U")
  }

  /// Unreadable members of a list are skipped.
  @Test func unreadableListMembersAreSkipped() throws {
    let digest = String(repeating: "ab", count: 32)
    let problem = try #require(
      Self.problem(
        #"{"code":"x","conflicts":[{"bundle":"web","url":"u"},{"bundle":7},null],"#
          + #""duplicates":{"other":"a"},"missing":["\#(digest)","short"]}"#))
    #expect(problem.conflicts == [Problem.Conflict(bundle: "web", sha256: nil, url: "u")])
    #expect(problem.duplicates == [])
    #expect(problem.missing.map(\.hex) == [digest])
  }

  @Test func conflictsWithoutDetailAreListed() throws {
    func message(_ count: Int) throws -> String {
      let conflicts = (0..<count).map { #"{"bundle":"b\#($0)","url":"/\#($0)"}"# }.joined(separator: ",")
      return try #require(
        Self.problem(#"{"code":"url-conflict","conflicts":[\#(conflicts)],"title":"Taken"}"#)
      )
      .message
    }
    #expect(try message(0) == "Taken")
    #expect(try message(2) == "Taken\n  /0 is in bundle b0\n  /1 is in bundle b1")
    // 41 lines are printed in full.
    #expect(try message(41).split(separator: "\n").count == 42)
    let long = try message(100).split(separator: "\n")
    #expect(long.count == 42 && long.last == "  … and 60 more; --json lists all")
  }

  @Test func refusedTokenNamesItsSource() {
    var problem = Problem(status: 401, title: "Unauthorized", code: "token", detail: "the token is unknown")
    #expect(
      problem.message == "the token is unknown; give one with --token or XCACHE_TOKEN, or run `xcache login`")
    problem.tokenSource = "XCACHE_TOKEN"
    #expect(problem.message == "the token is unknown. It came from XCACHE_TOKEN")
    var other = Problem(status: 403, title: "Forbidden", code: "scope", detail: "read only")
    other.tokenSource = "XCACHE_TOKEN"
    #expect(other.message == "read only")
  }
}
