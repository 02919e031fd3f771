import Linux
import System
import Values

/// Why pages can't be opened, or what keeps them from being. `message` is for people, `exitCode` for scripts.
package enum PreviewError: Error, Sendable {
  // What is to be opened
  /// `place` is where the address comes from, such as `URL`.
  case notAnAddress(String, in: String)
  case badFragment(String, in: String)
  /// Thrown when no file of a build is a page.
  case noPages
  case notInBuild(String)
  /// Thrown when the manifest of a server has an invalid entry for a URL.
  case badEntry(BaseURL, url: String)

  // Fixtures
  /// Thrown when the index of a folder of fixtures, or an entry of it, isn't what it should be.
  case badFixture(FixtureProblem, path: String, url: String?)
  case noFixture(path: String)
  case fixtureIsFolder(path: String)

  // The engine's program
  /// `variable`: what `XCACHE_WEBKIT` is set to, if it is.
  case noEngine(variable: String?)
  case notStarted(path: String, SystemError)
  case endedEarly(ChildProcess.End, EngineErrorLog)
  case badAnswer(EngineTalk.Fault, EngineErrorLog)
  case noReport(url: String)
  case notAPicture

  /// What a part of a folder of fixtures should be.
  package enum FixtureProblem: Hashable, Sendable {
    case notAnObject
    case notAURL
    case notAnAnswer
  }
}
