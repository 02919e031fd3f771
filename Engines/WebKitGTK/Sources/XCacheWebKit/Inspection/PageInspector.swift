import CWebKitGTK
import Foundation

/// Notes what the documents of one view do: what they say on the console, which scripts fail, what is loaded. And answers for the
/// person who isn't there: dialogs, new windows, downloads, printing and permissions are refused, and noted.
///
/// Pages are somebody's code: texts are cut, and of each list the first entries are kept.
@WebActor
public final class PageInspector {
  /// Something on the console.
  public struct Message: Hashable, Sendable, Codable {
    /// `error`, `warning`, `log`, `info`, `debug`; `dialog` and `refused` for what a person would have seen, or decided.
    public var level: String
    /// As it would be printed.
    public var text: String
    /// Of the script; nil: not known.
    public var url: String?
    /// In the script, from 1 on.
    public var line: Int?
  }

  /// An error that no script caught, or a promise that was rejected and nobody cared.
  public struct ScriptError: Hashable, Sendable, Codable {
    /// What was thrown.
    public var text: String
    /// Of the script; nil: not known.
    public var url: String?
    /// In the script, from 1 on.
    public var line: Int?
    /// In the line, from 1 on.
    public var column: Int?
  }

  /// Something that was asked for, as the engine tells it.
  public struct Resource: Hashable, Sendable {
    /// Where it came from, after redirects.
    public var url: String
    /// `document`, `script`, `empty`, …: `Sec-Fetch-Dest`, where the engine sent one.
    public var destination: String?
    /// Nil: there was no answer.
    public var status: Int?
    /// What the answer says it is.
    public var type: String?
    /// As the answer says; 0 where it doesn't.
    public var bytes: Int64 = 0
    /// Why there is none, or not all of it.
    public var failure: String?
    /// How long it took, as far as it is over.
    public var milliseconds: Int64?
    fileprivate let began = ContinuousClock.now
  }

  /// Entries of each kind on the console.
  public nonisolated static let mostMessages = 200
  /// Characters of a text.
  public nonisolated static let mostCharacters = 2_000
  /// Resources.
  public nonisolated static let mostResources = 5_000

  /// On the console, in their order.
  public private(set) var messages: [Message] = []
  /// In their order.
  public private(set) var scriptErrors: [ScriptError] = []
  /// In the order in which they were asked for.
  public private(set) var resources: [Resource] = []
  /// How many of them aren't over.
  public private(set) var loading = 0
  /// When one was last asked for.
  public private(set) var lastRequest = ContinuousClock.now
  /// Told of each download that was refused.
  public var onDownload: () -> Void = {}
  /// Why the web process ended; nil: it didn't.
  public private(set) var termination: String?

  /// For one view.
  public nonisolated init() {}

  func note(_ level: String, _ text: String, url: String? = nil, line: Int? = nil) {
    guard messages.count < Self.mostMessages else { return }
    messages.append(Message(level: level, text: Self.cut(text), url: url.map(Self.cut), line: line))
  }

  private func fail(_ text: String, url: String?, line: Int?, column: Int?) {
    guard scriptErrors.count < Self.mostMessages else { return }
    scriptErrors.append(
      ScriptError(text: Self.cut(text), url: url.map(Self.cut), line: line, column: column))
  }

  /// The beginning of a text, as much of it as is kept.
  public nonisolated static func cut(_ text: String) -> String {
    // By bytes first: counting the characters of a long text takes its time.
    if text.utf8.count <= mostCharacters { return text }
    return String(
      String(decoding: text.utf8.prefix(mostCharacters * 4), as: UTF8.self).prefix(mostCharacters))
  }

  func ended(_ reason: String) { if termination == nil { termination = reason } }

  // MARK: What the listener sends

  private struct Told: Decodable {
    let kind: String
    let level: String?
    let text: String
    let url: String?
    let line: Int?
    let column: Int?
  }

  func told(_ json: String) {
    guard let told = try? JSONDecoder().decode(Told.self, from: Data(json.utf8)) else { return }
    let url = told.url.flatMap { $0.isEmpty ? nil : $0 }
    let (line, column) = (told.line.flatMap { $0 > 0 ? $0 : nil }, told.column.flatMap { $0 > 0 ? $0 : nil })
    if told.kind == "error" {
      fail(told.text, url: url, line: line, column: column)
    } else {
      note(told.level ?? "log", told.text, url: url, line: line)
    }
  }

  // MARK: Resources

  /// - Returns: its number; nil where there are too many.
  func began(_ url: String, destination: String?) -> Int? {
    lastRequest = .now
    guard resources.count < Self.mostResources else { return nil }
    loading += 1
    resources.append(Resource(url: Self.cut(url), destination: destination))
    return resources.count - 1
  }

  func moved(_ index: Int, to url: String) { resources[index].url = Self.cut(url) }

  func answered(_ index: Int, status: Int?, type: String?, bytes: Int64) {
    (resources[index].status, resources[index].type, resources[index].bytes) = (status, type, bytes)
  }

  func over(_ index: Int, failure: String?) {
    guard resources[index].milliseconds == nil else { return }
    loading -= 1
    resources[index].failure = resources[index].failure ?? failure
    resources[index].milliseconds = Int64((.now - resources[index].began) / .milliseconds(1))
  }

  func failed(_ index: Int, _ failure: String) { resources[index].failure = failure }
}
