import Manifests
import Platform

extension StoreError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .inUse(let path, let process):
      let holder = process.map { "process \($0)" } ?? "another process"
      return "\(path) is in use by \(holder); stop it, or give another folder with --data"
    case .noDataFolder(let path):
      return "\(path) holds no origin's data; `xcache serve --data \(path)` makes it"
    case .foreignDatabase:
      return "xcache.db is a database of another program; give another folder with --data"
    case .newerDatabase(let migration):
      return "the database was made by a newer xcache (it has \(migration)); run that version or a later one"
    case .alteredMigration(let name):
      return
        "the database was made by an xcache whose \(name) differs from this one's; run the one that made it"
    case .corruptRow(let text):
      return "the database holds a value that xcache never writes: \"\(text)\"; restore it from a backup"
    case .database(let error):
      return "SQLite: \(error.message) (code \(error.code)) in: \(error.statement)"
    case .system(let error):
      return error.description
    case .diskFull(let place):
      return "no space left on the disk for \(place); nothing was changed; make room and try again"
    default:
      return releaseWords
    }
  }

  private var releaseWords: String {
    switch self {
    case .digestMismatch(let announced, let received):
      return """
        the bytes that arrived have sha256 \(received.sha256), md5 \(received.md5), \(received.size) bytes; \
        announced were sha256 \(announced.sha256), md5 \(announced.md5)\
        \(announced.size.map { ", \($0) bytes" } ?? ""); nothing was kept, send them again
        """
    case .unknownBlob(let sha256):
      return "no bytes are stored with sha256 \(sha256)"
    case .corruptBlob(let sha256):
      return "the stored bytes of sha256 \(sha256) are damaged and were set aside; publish the file again"
    case .unknownApp(let app):
      return "no app named \"\(app)\""
    case .unknownChannel(let app, let channel):
      return "app \"\(app)\" has no channel named \"\(channel)\""
    case .unknownBundle(let bundle):
      return "no bundle named \"\(bundle)\" in this channel"
    case .appNameTaken(let app, let other):
      return "an app's name must differ from others in more than case: \"\(app)\", but there is \"\(other)\""
    case .unknownBase(let bundle, let base):
      return "version \(base) of bundle \"\(bundle)\" is not kept; fetch the bundle's entries and plan again"
    case .changedSince(let bundle, let limit, let release):
      return """
        bundle "\(bundle)" changed after version \(limit): \(release.author) released version \(release.version)
        """
    case .urlConflicts(let conflicts):
      return Self.list("held by another bundle with other bytes or another type", conflicts) {
        "\($0.url) (bundle \"\($0.bundle)\", sha256 \($0.sha256))"
      }
    case .duplicateURLs(let duplicates):
      return Self.list("the same resource under two spellings", duplicates) { "\($0.url) and \($0.other)" }
    case .missingBlobs(let digests):
      return "the bytes of \(digests.count) files are not stored; send them, then commit again"
    case .contentMismatch(let url, let claimed, let stored):
      return """
        \(url): sha256 \(stored.sha256) is stored with md5 \(stored.md5) and \(stored.size) bytes, \
        not with md5 \(claimed.md5) and \(claimed.size) bytes
        """
    case .badRequest(.noBundle): return "a release names at least one bundle"
    case .badRequest(.bundleTwice(let bundle)):
      return "a release names each bundle once; twice: \"\(bundle)\""
    case .badRequest(.setAndRemoved(let url)): return "\(url) is both set and removed"
    case .unknownVersion(let version): return "version \(version) is not kept"
    case .tokenNameTaken(let name):
      return "a token named \"\(name)\" is in use; revoke it first or choose another name"
    case .unknownToken(let name): return "no token in use has the id or name \"\(name)\""
    default: return "an error of the store"
    }
  }

  private static func list<Item>(_ what: String, _ items: [Item], _ words: (Item) -> String) -> String {
    "\(what):\n" + items.map { "  " + words($0) }.joined(separator: "\n")
  }
}
