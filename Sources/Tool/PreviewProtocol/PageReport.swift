/// The report about a page.
public struct PageReport: Hashable, Sendable {
  /// Who answered a request.
  public enum Source: String, Codable, CaseIterable, Sendable {
    /// The device.
    case device
    /// A server, with a status below 400.
    case network
    /// A server, with a status of 400 or more; in a confined run, the program itself.
    case missing
    /// Nobody.
    case failed
    /// The engine itself: `data:`, `blob:`.
    case engine
  }

  /// A request of the page.
  public struct Request: Hashable, Sendable {
    /// The URL that was asked for.
    public let url: String
    /// Who answered.
    public let source: Source
    /// The answer's status; nil if there was none.
    public let status: Int64?
    /// The size of the answer's body.
    public let bytes: Int64
    /// `document`, `script`, `style`, `image`, `font`, `fetch` or `other`; nil if it isn't known.
    public let kind: String?
    /// How long it took, in milliseconds.
    public let ms: Int64?

    /// Creates a request.
    public init(url: String, source: Source, status: Int64?, bytes: Int64, kind: String?, ms: Int64?) {
      self.url = url
      self.source = source
      self.status = status
      self.bytes = bytes
      self.kind = kind
      self.ms = ms
    }
  }

  /// A message of the console, or a script's error.
  public struct Message: Hashable, Sendable {
    /// `error`, `warning`, `log`, …; nil for a script's error.
    public let level: String?
    /// The message.
    public let text: String
    /// The URL of the script; nil if it isn't known.
    public let url: String?
    /// The line in the script, from 1.
    public let line: Int64?
    /// The column in the line, from 1.
    public let column: Int64?

    /// Creates a message.
    public init(level: String?, text: String, url: String?, line: Int64?, column: Int64?) {
      self.level = level
      self.text = text
      self.url = url
      self.line = line
      self.column = column
    }
  }

  /// The job's number.
  public let id: Int
  /// The job's URL.
  public let url: String
  /// The URL of the page that was shown at last.
  public var finalURL: String?
  /// The page's title.
  public var title: String?
  /// The status of the page's own answer.
  public var status: Int64?
  /// Why the page didn't load; nil if it did.
  public var failure: String?
  /// Its requests, in order.
  public var requests: [Request] = []
  /// What its console shows.
  public var console: [Message] = []
  /// The errors that no script caught, and unhandled promise rejections.
  public var scriptErrors: [Message] = []
  /// In milliseconds from the start of the navigation.
  public var firstContentfulPaint: Double?
  /// In milliseconds from the start of the navigation.
  public var load: Double?
  /// Whether nothing can be seen on it.
  public var isBlank = true
  /// Whether the screenshot was written.
  public var hasScreenshot = false

  /// Creates the report of a page of which nothing is known yet.
  public init(id: Int, url: String) {
    self.id = id
    self.url = url
  }
}
