import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Trust
import Values

/// The app, the folder and the origin that a command about roots is about.
struct TrustContext {
  let arguments: Arguments
  let terminal: Terminal
  let remote: RemoteOrigin
  let folder: RootFolder
  let app: AppName

  /// - Parameter file: the root's file that the command was given.
  init(_ arguments: Arguments, _ terminal: Terminal, file: RootFile? = nil) throws {
    self.arguments = arguments
    self.terminal = terminal
    remote = try RemoteOrigin(arguments, namesChannel: false)
    let out = try arguments.value("out") ?? file.map { DurableFile.parent(of: $0.path) } ?? "."
    folder = RootFolder(out)
    let given = remote.settings.app
    if let file {
      app = file.root.app
      if let given, given != app, arguments.isGiven("app") || arguments.environment["XCACHE_APP"] != nil {
        throw UsageError("\(file.path) is a root of app \(app), not of \(given)")
      }
    } else {
      guard let known = try given ?? folder.roots().first?.root.app else {
        throw UsageError(
          "no app given, and no root.json in \(folder.path): name the app with --app NAME, or the folder with --out DIR"
        )
      }
      app = known
    }
  }

  /// Returns the root that is known without the origin: the one that `--root` names, or the newest in the folder.
  /// - Throws: `UsageError` if there is none.
  func anchor(below number: RootNumber? = nil) throws -> RootFile {
    let file: RootFile
    if let path = try arguments.value("root") {
      file = try RootFile(path: path)
    } else {
      let roots = try folder.roots().filter { root in
        root.root.app == app && number.map { root.root.number < $0 } ?? true
      }
      guard let newest = roots.last else {
        throw UsageError(
          "there is no root.json of app \(app) in \(folder.path): name the folder with --out DIR, or the root that the app is "
            + "built with by --root FILE. What the origin says of its roots isn't believed without it")
      }
      file = newest
    }
    guard file.root.app == app else {
      throw UsageError("\(file.path) is a root of app \(file.root.app), not of \(app)")
    }
    if let failure = file.root.number == .first ? RootChain.failure(ofFirst: file.signed) : nil {
      throw Failure(
        "\(file.path) isn't signed by enough of its own root keys (\(failure.rawValue)): `xcache trust sign \(file.path) --key FILE`",
        name: "root-refused")
    }
    return file
  }

  /// Returns the roots that are known, lowest number first: those of the folder, and those of the origin that follow from them.
  func known(_ chain: RootChain) throws -> [Signed<TrustRoot>] {
    let first = chain.roots[0].document.number
    return try folder.roots().filter { $0.root.app == app && $0.root.number < first }.map(\.signed)
      + chain.roots
  }

  func overview() throws -> TrustOverview { try remote.api.trust(of: app).value }

  /// Returns the origin's roots, as far as they follow from the one that is known.
  func chain(_ overview: TrustOverview, below number: RootNumber? = nil) throws -> RootChain {
    try RootChain(
      from: anchor(below: number), through: overview.roots.map { ($0.number, $0.envelope) })
  }

  /// The failure that the app has no root.
  func noRoot() -> Failure {
    Failure(
      "app \(app) has no root yet: `xcache trust init` makes one, and `xcache trust push` puts it in force",
      name: "no-root")
  }

  /// Returns the signers of statements that were given: several `--sign-key`, or what one command has.
  func signers() throws -> [any StatementSigner] {
    try GivenSigner.signers(GivenSigner.all(arguments, remote.settings), arguments, terminal)
  }

  /// Asks a person whether to go on, unless that was said.
  /// - Parameter isNeeded: whether it has to be said where nobody is there to ask, or `--json` is given.
  func isConfirmed(_ question: String, isNeeded: Bool = false) throws -> Bool {
    guard !arguments.has("yes"), !arguments.has("dry-run") else { return true }
    let words = "-y does it without a question, --dry-run only shows it"
    if arguments.has("json") {
      guard isNeeded else { return true }
      throw UsageError("nothing was changed, because with --json nothing can be asked: \(words)")
    }
    guard let answer = try terminal.confirms(question) else {
      guard isNeeded else { return true }
      throw UsageError("nothing was changed, because there is no terminal to ask on: \(words)")
    }
    if !answer { terminal.note("nothing was changed") }
    return answer
  }

  /// Writes a file that isn't there yet.
  static func create(_ bytes: [UInt8], at path: String, mode: UInt32 = 0o644) throws {
    do throws(SystemError) {
      try DurableFile.write(bytes, to: path, mode: mode, replaces: false)
    } catch {
      guard error.code == .fileExists else { throw error }
      throw exists(path)
    }
  }

  static func exists(_ path: String) -> Failure {
    Failure("\(path) exists already, and is not overwritten", code: .refused, name: "exists")
  }
}
