import CWebKitGTK
import Foundation

/// Records what the documents of one view do: console messages, script errors, resource loads. It also answers in place of
/// a user: dialogs, new windows, downloads, printing and permissions are refused and recorded.
///
/// Pages are untrusted code, so texts are truncated, and only the first entries of each list are kept.
@WebActor
public final class PageInspector {
  /// A message on the console.
  public struct Message: Hashable, Sendable, Codable {
    /// `error`, `warning`, `log`, `info`, `debug`; `dialog` or `refused` for what a user would have seen or decided.
    public var level: String
    /// The text as the console would print it.
    public var text: String
    /// The URL of the script; nil if it isn't known.
    public var url: String?
    /// The line in the script, from 1.
    public var line: Int?
  }

  /// An error that no script caught, or an unhandled promise rejection.
  public struct ScriptError: Hashable, Sendable, Codable {
    /// The error that was thrown.
    public var text: String
    /// The URL of the script; nil if it isn't known.
    public var url: String?
    /// The line in the script, from 1.
    public var line: Int?
    /// The column in the line, from 1.
    public var column: Int?
  }

  /// A resource that was requested, as the engine reports it.
  public struct Resource: Hashable, Sendable {
    /// The URL that it came from, after redirects.
    public var url: String
    /// The value of `Sec-Fetch-Dest`, if the engine sent one: `document`, `script`, `empty`, ….
    public var destination: String?
    /// The status of the response; nil if there was none.
    public var status: Int?
    /// The media type of the response.
    public var type: String?
    /// The length that the response announced; 0 if it didn't.
    public var bytes: Int64 = 0
    /// Why it failed, entirely or in part.
    public var failure: String?
    /// How long it took; nil until it is over.
    public var milliseconds: Int64?
    fileprivate let began = ContinuousClock.now
  }

  /// The most console messages, and the most script errors, that are kept.
  public nonisolated static let mostMessages = 200
  /// The most characters of a text.
  public nonisolated static let mostCharacters = 2_000
  /// The most resources that are kept.
  public nonisolated static let mostResources = 5_000

  /// Console messages, in order.
  public private(set) var messages: [Message] = []
  /// Script errors, in order.
  public private(set) var scriptErrors: [ScriptError] = []
  /// Resources, in the order in which they were requested.
  public private(set) var resources: [Resource] = []
  /// The number of resources that are still loading.
  public private(set) var loading = 0
  /// When a resource was last requested.
  public private(set) var lastRequest = ContinuousClock.now
  /// Called for each download that was refused.
  public var onDownload: () -> Void = {}
  /// Why the web process ended; nil if it didn't.
  public private(set) var termination: String?

  /// Creates an inspector for one view.
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

  /// Returns the beginning of a text, as much of it as is kept.
  public nonisolated static func cut(_ text: String) -> String {
    // By bytes first: counting the characters of a long text is slow.
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

  /// - Returns: the resource's number; nil if there are too many.
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
