import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Carries a client's answer to a challenge back to the challenged task; only the first answer counts.
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
    /// Tells the client of a redirect; to follow it, the client sends a new request.
    func redirected(to request: URLRequest, by response: HTTPURLResponse) {
      tell {
        $0.urlProtocol($1, wasRedirectedTo: request, redirectResponse: response)
        // "… the protocol should … complete" this load; a client that follows ignores the error.
        $0.urlProtocol($1, didFailWithError: URLError(.cancelled))
      }
    }

    /// Lets the client answer a challenge, for example whether to trust a server.
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
