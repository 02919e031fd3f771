import Manifests
import Mirror
import Publishing
import System
import Trust
import Values

/// `xcache mirror --sign-head KEY --to DIR`: signs new heads for a copy whose origin is gone.
enum MirrorHead {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    if !arguments.all("data").isEmpty || !arguments.all("server").isEmpty {
      throw UsageError("--sign-head needs no origin: leave out --data and --server")
    }
    let renewal = try HeadRenewal(
      try MirrorCommand.place(arguments), key: try key(arguments, terminal),
      try MirrorCommand.selection(arguments), roots: try roots(arguments))
    let report = try renewal.run()
    if arguments.has("json") {
      terminal.say(json: report.json)
    } else {
      terminal.say(list: report.lines, all: arguments.has("all"))
    }
    return .done
  }

  private static func key(_ arguments: Arguments, _ terminal: Terminal) throws -> HeadRenewal.Key {
    guard let path = try arguments.value("sign-head") else {
      throw UsageError("--sign-head FILE is required: the key")
    }
    let file = try KeyFile(path: path) { GivenSigner.passphrase(of: $0, arguments, terminal) }
    return HeadRenewal.Key(key: file.key) { (message) throws(MirrorError) in
      do throws(SigningError) {
        return try file.sign(message)
      } catch {
        throw .badPlace(error.description)
      }
    }
  }

  /// Returns the roots in the files of `--root`.
  static func roots(_ arguments: Arguments) throws -> [Signed<TrustRoot>] {
    var roots: [Signed<TrustRoot>] = []
    for path in arguments.all("root") {
      guard let bytes = try DurableFile.read(path, limit: Envelope.limit) else {
        throw Failure("--root \(path): no such file", code: .usage, name: "settings")
      }
      let root: Signed<TrustRoot>
      do throws(TrustFormError) {
        root = try Signed(parsing: bytes)
      } catch {
        throw Failure("--root \(path) isn't a root: \(error)", code: .usage, name: "settings")
      }
      guard !roots.contains(where: { $0.document.app == root.document.app }) else {
        throw UsageError("--root: there are two roots of app \(root.document.app)")
      }
      roots.append(root)
    }
    return roots
  }
}

extension HeadRenewal.Report {
  fileprivate var lines: [String] {
    renewed.map {
      "\($0.channel): head of version \($0.head.version) signed, good until \(Timestamp.text($0.head.until.milliseconds))"
    } + unsigned.map { "\($0): no root, or one that is off, so no head" }
  }

  fileprivate var json: JSONValue {
    [
      "heads": .array(
        renewed.map {
          [
            "app": .string($0.channel.app.text), "at": .string(Timestamp.text($0.head.at.milliseconds)),
            "before": $0.before.map { .string(Timestamp.text($0.milliseconds)) } ?? .null,
            "channel": .string($0.channel.channel.text),
            "until": .string(Timestamp.text($0.head.until.milliseconds)),
            "version": .string($0.head.version.text),
          ]
        }),
      "unsigned": .array(unsigned.map(\.json)),
    ]
  }
}
