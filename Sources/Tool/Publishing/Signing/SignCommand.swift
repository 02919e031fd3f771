import Linux
import System
import Trust

/// A program that signs: one that asks a KMS, an HSM or a smart card. `/bin/sh` runs it; it gets the message on its standard
/// input, and writes the signature of its SHA-256 in DER.
package struct SignCommand: StatementSigner {
  /// The public key, which verifies each signature before it is used.
  package let key: TrustKey
  private let command: String
  private let environment: [String: String]
  /// Where it runs; nil: where this process does.
  private let folder: String?
  /// How long it may take, in milliseconds.
  private let limit: Int

  /// The most bytes that are read of what it writes.
  private static let outputLimit = 4096
  /// Variables that another program has no use for: they are secrets.
  package static let secrets: Set<String> = [
    "XCACHE_TOKEN", "XCACHE_SIGN_KEY", "XCACHE_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
  ]

  /// - Parameters:
  ///   - command: as a shell takes it.
  ///   - key: the public key.
  ///   - environment: its variables.
  ///   - folder: where it runs; nil: where this process does.
  ///   - limit: how long it may take, in milliseconds.
  package init(
    _ command: String, key: TrustKey, environment: [String: String] = Environment.variables,
    folder: String? = nil, limit: Int = 60_000
  ) {
    self.command = command
    self.key = key
    self.environment = environment.filter { !Self.secrets.contains($0.key) }
    self.folder = folder
    self.limit = limit
  }

  package func sign(_ message: [UInt8]) throws(SigningError) -> P256Signature {
    let run = try run(message)
    guard run.end == .exit(0) || run.output.count > Self.outputLimit else {
      throw failure("it ended with \(run.end)", run.errors)
    }
    guard let signature = P256Signature(der: run.output) else {
      throw failure(Self.problem(of: run.output), run.errors)
    }
    guard SystemVerifier().verifies(signature, of: message, by: key) else {
      throw failure(
        "the key \(key.id) doesn't verify its signature: it has another key, or doesn't sign the SHA-256 of its "
          + "standard input", run.errors)
    }
    return signature
  }

  private static func problem(of output: [UInt8]) -> String {
    switch output.count {
    case 0: "it wrote nothing to its standard output"
    case 64: "it wrote 64 bytes, r and s as they are; what is needed is the signature in DER"
    default:
      "what it wrote, \(output.count) bytes\(output.count > outputLimit ? " or more" : ""), is no signature in DER"
    }
  }

  private func failure(_ reason: String, _ errors: [UInt8]) -> SigningError {
    let text = SignerSecrets(command: command, environment).hidden(
      in: String(decoding: errors, as: UTF8.self))
    let isEmpty = text.allSatisfy(\.isWhitespace)
    let lines = text.split(whereSeparator: \.isNewline).map { "\n  \($0)" }.joined()
    return .command(SignerSecrets.program(of: command), isEmpty ? reason : "\(reason). It said:\(lines)")
  }

  private struct Run {
    var output: [UInt8]
    let errors: [UInt8]
    let end: ChildProcess.End
  }

  /// The arguments of the shell, which goes to the folder first. A variable could send it to another one.
  private static func arguments(_ command: String, _ folder: String?) -> [String] {
    guard let folder else { return ["-c", command] }
    return ["-c", #"CDPATH= cd -- "$1" && exec /bin/sh -c "$2""#, "sh", folder, command]
  }

  private func run(_ message: [UInt8]) throws(SigningError) -> Run {
    // One that has ended no longer reads.
    Signals.ignorePipe()
    let child: ChildProcess
    do {
      child = try ChildProcess("/bin/sh", Self.arguments(command, folder), environment: environment)
    } catch {
      throw .command(SignerSecrets.program(of: command), "\(error)")
    }
    let errors = Locked<[UInt8]>([])
    let reader = ThreadTask<Void, Never>("sign-errors") {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.outputLimit, alignment: 16)
      defer { buffer.deallocate() }
      while let count = try? child.readErrors(into: buffer), count > 0 {
        errors.withLock { $0 += buffer[..<min(count, Self.outputLimit - $0.count)] }
      }
    }
    // A program that doesn't read what it is to sign, and signs, is found out by its signature. One that doesn't read, and waits, has the
    // same limit in time.
    let writer = ThreadTask<Void, Never>("sign-input") {
      _ = child.write(message, milliseconds: limit)
      child.closeInput()
    }
    let output = read(child)
    // Its process group ends with it, and so everything that could write more.
    let isDone = output.map { $0.count <= Self.outputLimit } ?? false
    let end = child.finish(within: isDone ? Self.ending : 0)
    writer.value()
    reader.value()
    let said = errors.withLock { $0 }
    guard let output else {
      throw failure(
        "it took more than \(limit / 1000) s. It can't ask at the terminal: give a PIN by a file or a variable",
        said)
    }
    return Run(output: output, errors: said, end: end)
  }

  /// How long it may take to end once its output is closed, in milliseconds.
  private static let ending = 5_000

  /// Reads its standard output to the end; nil if that didn't come in time.
  private func read(_ child: ChildProcess) -> [UInt8]? {
    let end = Clock.monotonicNanoseconds() + UInt64(limit) * 1_000_000
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.outputLimit, alignment: 16)
    defer { buffer.deallocate() }
    var output: [UInt8] = []
    while output.count <= Self.outputLimit {
      let now = Clock.monotonicNanoseconds()
      guard now < end else { return nil }
      guard let count = try? child.read(into: buffer, milliseconds: Int((end - now) / 1_000_000) + 1) else {
        return nil
      }
      if count == 0 { break }
      output += buffer[..<min(count, Self.outputLimit + 1 - output.count)]
    }
    return output
  }
}
