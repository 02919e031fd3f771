import Mirror
import Origin
import OriginAPI
import OriginClient
import Preview
import Publishing
import Store
import System
import Values
import XCacheDevice

/// A command's failure: a message for people, an exit code for the shell, a name for programs.
struct Fault {
  /// What is wrong, where, and what to do.
  private(set) var message: String
  let exitCode: ExitCode
  /// A stable name: `usage`, `unreachable`, `url-conflict`.
  let name: String
  /// The other members of the origin's problem document.
  private var members = JSONObject()
  /// Whether the origin asks for a token, and the command had none.
  private var lacksToken = false

  init(_ error: any Error) {
    switch error {
    case let error as UsageError: self.init(error.message, .usage, "usage")
    case let error as SettingsError: self.init(error.message, .usage, "settings")
    case let failure as Failure: self.init(failure.message, failure.code, failure.name)
    case PublishError.origin(.unreachable(_, let cause)), OriginError.unreachable(_, let cause),
      MirrorError.unreachable(_, let cause, _):
      let isOfFile = cause.isOfAuthorities
      self.init(
        Self.message(of: error), isOfFile ? .usage : .failed, isOfFile ? "certificates" : "unreachable")
    case PublishError.origin(let error), let error as OriginError: self.init(error)
    case let error as PublishError:
      self.init(error.message, ExitCode(rawValue: error.exitCode) ?? .failed, error.name)
    case let error as PreviewError:
      self.init(error.message, ExitCode(rawValue: error.exitCode) ?? .failed, error.name)
    case let error as SigningError: self.init(error.description, .failed, "signing")
    case let error as CeremonyError:
      self.init(error.description, error.isRefusal ? .refused : .failed, "root-refused")
    case let error as StoreError: self.init(error)
    // A device's settings come from the command line.
    case DeviceError.badSetting: self.init("\(error)", .usage, "usage")
    case DeviceError.noAnswer: self.init("\(error)", .failed, "unreachable")
    case DeviceError.untrusted: self.init("\(error)", .refused, "untrusted")
    case DeviceError.unreadable: self.init("\(error)", .failed, "not-an-origin")
    // An origin always gives a reason.
    case DeviceError.status(_, _, nil): self.init("\(error)", .failed, "not-an-origin")
    case MirrorError.notAnOrigin: self.init("\(error)", .failed, "not-an-origin")
    case MirrorError.noMirror, MirrorError.noIndex: self.init("\(error)", .failed, "not-a-copy")
    case MirrorError.badPlace: self.init("\(error)", .usage, "settings")
    case MirrorError.store(let error): self.init(error)
    case let error as SystemError where error.isDiskFull,
      MirrorError.system(let error) where error.isDiskFull:
      self.init("\(error)", .failed, "disk-full")
    case let error as DeviceError where error.isDiskFull: self.init("\(error)", .failed, "disk-full")
    // The descriptions of DeviceError, MirrorError and SystemError say what is wrong, where and what to do.
    default: self.init("\(error)", .failed, "failed")
    }
  }

  private static func message(of error: any Error) -> String {
    switch error {
    case let error as OriginError: error.message
    case let error as PublishError: error.message
    default: "\(error)"
    }
  }

  private init(_ message: String, _ exitCode: ExitCode, _ name: String) {
    self.message = SafeText.withoutTokens(message)
    self.exitCode = exitCode
    self.name = name
  }

  private init(_ error: OriginError) {
    let name =
      switch error {
      case .unreachable: "unreachable"
      case .notAnOrigin: "not-an-origin"
      case .blocked: "blocked"
      case .unknownOutcome: "unknown-outcome"
      case .refused(let problem): problem.code
      case .body: "unreadable"
      }
    self.init(error.message, ExitCode(rawValue: error.exitCode) ?? .failed, name)
    guard let problem = error.problem else { return }
    lacksToken = problem.code == "token" && problem.tokenSource == nil && !problem.isAboutGivenToken
    members = problem.members
    members["status"] = .integer(problem.status)
  }

  /// Names a data folder's errors as the server does.
  private init(_ error: StoreError) {
    let problem = Problem(error)
    switch error {
    case .notEmpty: self.init(error.description, .refused, "exists")
    case .damagedDatabase: self.init(error.description, .failed, "damaged")
    case .database(let cause) where cause.isDamage: self.init(error.description, .failed, "damaged")
    default:
      let isKnown = problem.code != "internal"
      self.init(
        error.description, problem.status == 409 ? .refused : .failed, isKnown ? problem.code : "failed")
    }
    members = problem.members
  }

  /// Returns the same with the commands in its message completed.
  func completed(by hints: Hints) -> Fault {
    var fault = self
    fault.message = hints.completed(message)
    return fault
  }

  /// Returns the same with what a job of a CI system needs so that it has an ID token, if the command had nothing to ask with.
  func completed(for environment: [String: String]) -> Fault {
    guard lacksToken, let words = Self.jobWords(environment) else { return self }
    var fault = self
    fault.message += ". \(words), and let an admin add an identity for it (`xcache identity add --help`)"
    return fault
  }

  private static func jobWords(_ environment: [String: String]) -> String? {
    if environment["GITHUB_ACTIONS"] == "true" {
      return "A job of GitHub Actions needs no token: give it `permissions: id-token: write`"
    }
    guard environment["GITLAB_CI"] == "true" else { return nil }
    return "A job of GitLab needs no token: give it `id_tokens: XCACHE_ID_TOKEN: aud:` with the server's URL"
  }

  /// The failure as a problem document (RFC 9457), with the exit code as a member.
  var json: JSONValue {
    var document = members
    document["code"] = .string(name)
    document["detail"] = .string(message)
    document["exitCode"] = .integer(Int(exitCode.rawValue))
    document["title"] = .string("\(exitCode)")
    document["type"] = "about:blank"
    return .object(document)
  }
}

extension PublishError {
  /// The error's name for programs.
  fileprivate var name: String {
    switch self {
    case .noFolder, .notAFolder, .nothingToPublish: "no-files"
    case .archive: "archive"
    case .unreadable, .changedWhileRead, .damagedOnTheWay: "unreadable"
    case .notAFile, .notUTF8, .linkToNothing, .linkInCircle, .linkLeaves, .noURL: "unfit-file"
    case .duplicates: "duplicate-url"
    case .bundleTwice: "usage"
    case .fallback, .lazyPages: "settings"
    case .newBundle: "new-bundle"
    case .noPageStays: "no-pages"
    case .noSourceMaps, .sourceMapsUnknown: "source-maps"
    case .broken: "check"
    case .overBudget, .costUnknown, .alwaysOvertaken: "budget"
    case .deltasLeft: "failed"
    case .trust(let fault): fault.name
    case .awaited(let fault): fault.name
    case .origin: "origin"
    }
  }
}
