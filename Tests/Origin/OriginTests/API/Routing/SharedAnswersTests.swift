import HTTP
import System
import Testing

@testable import Origin

@Suite struct SharedAnswersTests {
  private static func response(_ text: String) -> Response {
    Response(.ok, contentType: "text/plain", text)
  }
  private static func text(_ response: Response) -> String {
    guard case .bytes(let bytes) = response.body else { return "" }
    return String(decoding: bytes.address, as: UTF8.self)
  }

  @Test func equalRequestsShareOneAnswer() throws {
    let (shared, made, mayEnd) = (SharedAnswers(), Locked(0), Monitor(false))
    let texts = Locked<[String]>([])
    let threads = try (0..<8).map { _ in
      try OSThread(name: "reader") {
        let answer = shared.answer(to: ["a", "1"]) {
          mayEnd.waiting { $0 ? () : nil }
          return Self.response("\(made.withLock { made in made += 1; return made })")
        }
        texts.withLock { $0.append(Self.text(answer)) }
      }
    }
    #expect(Self.text(shared.answer(to: ["a", "2"]) { Self.response("other") }) == "other")
    mayEnd.broadcasting { $0 = true }
    for thread in threads { thread.join() }
    #expect(texts.withLock { $0 } == Array(repeating: "1", count: 8))
  }

  @Test func smallAnswersAreKeptAndLargeOnesAreNot() {
    let now = Locked<UInt64>(1)
    let shared = SharedAnswers { now.withLock { $0 } }
    let large = String(repeating: "x", count: 2 << 20)
    for text in ["1", "2"] { #expect(Self.text(shared.answer(to: ["small"]) { Self.response(text) }) == "1") }
    for _ in 0..<2 {
      var isMade = false
      _ = shared.answer(to: ["large"]) {
        isMade = true
        return Self.response(large)
      }
      #expect(isMade)
    }
    now.withLock { $0 += 10_000_000_001 }
    #expect(Self.text(shared.answer(to: ["small"]) { Self.response("3") }) == "3")
  }

  /// The client for which an answer is made may disconnect before it is complete.
  @Test func cancelledAnswerIsMadeByTheNextRequest() throws {
    let shared = SharedAnswers()
    let (begun, first) = (Monitor(false), Cancellation())
    let thread = try OSThread(name: "reader") {
      Cancellation.$current.withValue(first) {
        _ = try? shared.answer(to: ["a"]) {
          begun.broadcasting { $0 = true }
          while !first.isCancelled { Clock.sleep(for: .milliseconds(1)) }
          throw CancellationError()
        }
      }
    }
    begun.waiting { $0 ? () : nil }
    let text = Locked("")
    let next = try OSThread(name: "reader") {
      let answer = shared.answer(to: ["a"]) { Self.response("whole") }
      text.withLock { $0 = Self.text(answer) }
    }
    first.cancel()
    for thread in [thread, next] { thread.join() }
    #expect(text.withLock { $0 } == "whole")
  }

  @Test func textIsMadeOnceASecond() {
    let (now, made) = (Locked<UInt64>(5_000_000_000), Locked(0))
    let text = RecentText(clock: { now.withLock { $0 } }) {
      made.withLock { made in
        made += 1
        return "\(made)"
      }
    }
    for _ in 0..<100 { #expect(text.text == "1") }
    now.withLock { $0 += 1_000_000_000 }
    #expect(text.text == "2")
  }

  @Test func oneThreadMakesATextAndOthersUseThePreviousOne() throws {
    let (now, mayEnd, made) = (Locked<UInt64>(5_000_000_000), Monitor(true), Locked(0))
    let text = RecentText(clock: { now.withLock { $0 } }) {
      mayEnd.waiting { $0 ? () : nil }
      return made.withLock { made in
        made += 1
        return "\(made)"
      }
    }
    #expect(text.text == "1")
    now.withLock { $0 += 1_000_000_000 }
    mayEnd.withLock { $0 = false }
    let taken = Monitor(0)
    let threads = try (0..<5).map { _ in
      try OSThread(name: "reader") {
        _ = text.text
        taken.broadcasting { $0 += 1 }
      }
    }
    #expect(taken.waiting(for: .seconds(5)) { $0 == 4 ? true : nil } == true)
    mayEnd.broadcasting { $0 = true }
    for thread in threads { thread.join() }
    #expect(made.withLock { $0 } == 2 && text.text == "2")
  }
}
