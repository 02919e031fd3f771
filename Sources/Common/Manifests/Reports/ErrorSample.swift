import Values

/// What happened when a page from the device's files failed: one example, stripped of what may name a person (docs/protocol.md,
/// "Reports").
package struct ErrorSample: Hashable, Sendable {
  /// How a page failed.
  package enum Kind: String, CaseIterable, Sendable {
    /// An uncaught error of a script.
    case script
    /// A promise that was rejected, and nobody handled it.
    case rejection
    /// The page didn't come up in time.
    case page
    /// The page's process ended.
    case process
  }

  /// The most frames of a stack; further ones are dropped.
  package static let frames = 10
  /// The most samples that a device sends of one version.
  package static let perVersion = 16

  /// How the page failed.
  package let kind: Kind
  /// The error's message: one line of at most `SampleText.messageLimit` bytes; it may be empty.
  package let message: String
  /// The URL of the page's document, of at most `SampleText.urlLimit` bytes.
  package let page: String
  /// The web engine's name and major version; empty if it isn't known.
  package let engine: String
  /// The top frames of the stack, `FUNCTION@URL:LINE:COLUMN`, each of at most `SampleText.frameLimit` bytes; empty where there is none.
  package let stack: [String]

  /// Creates a sample; its texts are stripped here.
  /// - Parameters:
  ///   - stack: frames as `FUNCTION@URL:LINE:COLUMN`.
  ///   - address: the page's own address, if it isn't `page` but a route that `page` answers for: its texts name no routes (D-173).
  ///   - listed: whether a URL without query is listed in the version that the page came from.
  package init(
    _ kind: Kind, message: String, page: String, engine: String, stack: [String],
    address: String? = nil, listed: @escaping SampleText.Listing = { _ in false }
  ) {
    let known = SampleText.Known(
      isListed: listed, route: address.flatMap { $0 == page ? nil : (address: $0, page: page) })
    self.kind = kind
    self.message = SampleText.message(message, known)
    self.page = SampleText.url(page, listed: listed)
    self.engine = SampleText.engine(engine)
    self.stack = stack.prefix(Self.frames).map { SampleText.frame($0, known) }.filter { $0 != "@" }
  }

  /// Creates a sample of texts that were stripped before, which stay as they are.
  package init(stored kind: Kind, message: String, page: String, engine: String, stack: [String]) {
    (self.kind, self.message, self.page, self.engine, self.stack) = (kind, message, page, engine, stack)
  }

  /// Reads the member `sample` of a report. Texts that are too long are cut.
  /// - Parameter listed: whether a URL without query is listed in the version that the sample is about.
  /// - Throws: `member` for a missing or wrong one, and for a page that isn't on the web.
  package init(json: JSONValue, listed: @escaping SampleText.Listing = { _ in false }) throws(JSONError) {
    guard let kind = json["kind"]?.string.flatMap({ Kind(rawValue: $0) }) else { throw .member("kind") }
    let frames = json["stack"]?.array ?? []
    let stack = frames.prefix(Self.frames).compactMap(\.string)
    guard stack.count == min(frames.count, Self.frames) else { throw .member("stack") }
    let engine = json["engine"]?.string ?? ""
    self.init(
      kind, message: try json.string("message"), page: try json.string("page"), engine: engine, stack: stack,
      listed: listed)
    // A stripped URL has its host, or is only `http:`.
    guard page.hasPrefix("https://") || page.hasPrefix("http://") else { throw .member("page") }
  }

  /// The member `sample` of a report.
  package var json: JSONValue {
    [
      "engine": .string(engine), "kind": .string(kind.rawValue), "message": .string(message),
      "page": .string(page), "stack": .strings(stack),
    ]
  }
}

/// The body of `POST /report` with an error sample.
package struct SampleReport: Hashable, Sendable {
  /// The manifest version that the page came from.
  package let version: ManifestVersion
  /// What happened.
  package let sample: ErrorSample

  /// Creates a report of a page that came from `version`.
  package init(version: ManifestVersion, sample: ErrorSample) {
    self.version = version
    self.sample = sample
  }

  /// Parses `{"sample":{…},"version":"553"}`.
  /// - Throws: `member` for a missing or wrong one.
  package init(json: JSONValue, listed: @escaping SampleText.Listing = { _ in false }) throws(JSONError) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("version")
    }
    guard let sample = json["sample"] else { throw .member("sample") }
    self.init(version: version, sample: try ErrorSample(json: sample, listed: listed))
  }

  /// The body of the request.
  package var body: [UInt8] {
    let json: JSONValue = ["sample": sample.json, "version": .string(version.text)]
    return json.canonical
  }
}
