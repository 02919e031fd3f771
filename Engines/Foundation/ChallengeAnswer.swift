import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Carries a client's answer to a challenge back to the task that was challenged: the first one counts.
final class ChallengeAnswer: NSObject, Sendable {
  typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

  private let answer: Locked<Answer?>

  init(_ answer: @escaping Answer) { self.answer = Locked(answer) }

  func give(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil) {
    answer.withLock { $0.take() }?(disposition, credential)
  }

  func cancel() { give(.cancelAuthenticationChallenge) }
}

#if canImport(Darwin)
  extension ChallengeAnswer: URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
      give(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { give(.useCredential) }

    func cancel(_ challenge: URLAuthenticationChallenge) { cancel() }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { give(.performDefaultHandling) }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
      give(.rejectProtectionSpace)
    }
  }

  extension Loading {
    /// Tells the client of a redirect; where it follows, it asks anew.
    func redirected(to request: URLRequest, by response: HTTPURLResponse) {
      tell {
        $0.urlProtocol($1, wasRedirectedTo: request, redirectResponse: response)
        // "… the protocol should … complete" this load; the client ignores it where it follows.
        $0.urlProtocol($1, didFailWithError: URLError(.cancelled))
      }
    }

    /// Has the client answer a challenge, whether a server is trusted for example.
    func asked(_ challenge: URLAuthenticationChallenge, _ answer: @escaping ChallengeAnswer.Answer) {
      let sender = ChallengeAnswer(answer)
      let isStopped = state.withLock { state -> Bool in
        state.challenge = sender
        return state.isStopped
      }
      if isStopped { return sender.cancel() }
      let own = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender)
      tell { $0.urlProtocol($1, didReceive: own) }
    }
  }
#endif
