import Manifests
import System
import Trust

/// A root in a file: an envelope with its signatures.
package struct RootFile: Sendable {
  package let path: String
  package let signed: Signed<TrustRoot>

  package init(path: String, signed: Signed<TrustRoot>) {
    self.path = path
    self.signed = signed
  }

  /// - Throws: `unreadable`, `notARoot`.
  package init(path: String) throws(CeremonyError) {
    let bytes: [UInt8]?
    do throws(SystemError) {
      bytes = try DurableFile.read(path, limit: Envelope.limit)
    } catch {
      throw .unreadable(path: path, error.reason)
    }
    guard let bytes else { throw .unreadable(path: path, "no such file") }
    do throws(TrustFormError) {
      signed = try Signed(parsing: bytes)
    } catch {
      throw .notARoot(path: path, error)
    }
    self.path = path
  }

  package var root: TrustRoot { signed.document }

  /// The file's content.
  package static func bytes(_ signed: Signed<TrustRoot>) -> [UInt8] { signed.envelope.bytes + [0x0a] }
}

/// A folder with an app's roots: `root.json`, which the app is built with, those that followed as `root-2.json`, and what is to
/// follow as `root-3.draft.json`.
package struct RootFolder: Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  package func path(of number: RootNumber) -> String {
    "\(path)/root\(number == .first ? "" : "-\(number)").json"
  }

  package func draftPath(of number: RootNumber) -> String { "\(path)/root-\(number).draft.json" }

  /// Returns the path that a draft gets once it is in force; nil for a file with another name than a draft's.
  package static func settled(_ path: String) -> String? {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? path
    return number(in: name, ".draft.json").map { RootFolder(DurableFile.parent(of: path)).path(of: $0) }
  }

  /// The roots, lowest number first.
  package func roots() throws(CeremonyError) -> [RootFile] {
    var files: [RootFile] = []
    for name in names() {
      let isRoot = name == "root.json" || Self.number(in: name, ".json") != nil
      if isRoot { files.append(try RootFile(path: "\(path)/\(name)")) }
    }
    return files.sorted { $0.root.number < $1.root.number }
  }

  /// The drafts, lowest number first.
  package func drafts() throws(CeremonyError) -> [RootFile] {
    var files: [RootFile] = []
    for name in names() where Self.number(in: name, ".draft.json") != nil {
      files.append(try RootFile(path: "\(path)/\(name)"))
    }
    return files.sorted { $0.root.number < $1.root.number }
  }

  private func names() -> [String] { (try? Folder.textNames(path)) ?? [] }

  private static func number(in name: String, _ ending: String) -> RootNumber? {
    guard name.hasPrefix("root-"), name.hasSuffix(ending) else { return nil }
    return RootNumber(text: String(name.dropFirst(5).dropLast(ending.count)))
  }
}
