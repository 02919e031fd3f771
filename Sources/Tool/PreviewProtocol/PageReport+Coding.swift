// What isn't known of a page or a request is written as `null`, not left out.

extension PageReport: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, url, finalURL, title, status, failure, requests, console, scriptErrors, firstContentfulPaint
    case load, isBlank, hasScreenshot
  }

  /// Reads a report; unknown members are ignored.
  public init(from decoder: any Decoder) throws {
    let line = try decoder.container(keyedBy: CodingKeys.self)
    let id = try line.decode(Int.self, forKey: .id)
    self.init(id: id, url: try line.decodeIfPresent(String.self, forKey: .url) ?? "")
    finalURL = try line.decodeIfPresent(String.self, forKey: .finalURL)
    title = try line.decodeIfPresent(String.self, forKey: .title)
    status = try line.whole(.status)
    failure = try line.decodeIfPresent(String.self, forKey: .failure)
    requests = try line.decode([Request].self, forKey: .requests)
    console = try line.decode([Message].self, forKey: .console)
    scriptErrors = try line.decode([Message].self, forKey: .scriptErrors)
    firstContentfulPaint = try line.number(.firstContentfulPaint)
    load = try line.number(.load)
    // It is unknown for a page that didn't load.
    isBlank =
      failure == nil
      ? try line.decode(Bool.self, forKey: .isBlank)
      : try line.decodeIfPresent(Bool.self, forKey: .isBlank) ?? true
    hasScreenshot = try line.decodeIfPresent(Bool.self, forKey: .hasScreenshot) ?? false
  }

  /// Writes a report.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(id, forKey: .id)
    try line.encode(url, forKey: .url)
    try line.encode(finalURL, forKey: .finalURL)
    try line.encode(title, forKey: .title)
    try line.encode(status, forKey: .status)
    try line.encode(failure, forKey: .failure)
    try line.encode(requests, forKey: .requests)
    try line.encode(console, forKey: .console)
    try line.encode(scriptErrors, forKey: .scriptErrors)
    try line.encode(firstContentfulPaint, forKey: .firstContentfulPaint)
    try line.encode(load, forKey: .load)
    try line.encode(isBlank, forKey: .isBlank)
    try line.encode(hasScreenshot, forKey: .hasScreenshot)
  }
}

extension PageReport.Request: Codable {
  private enum CodingKeys: String, CodingKey { case url, source, status, bytes, kind, ms }

  /// Reads a request.
  public init(from decoder: any Decoder) throws {
    let line = try decoder.container(keyedBy: CodingKeys.self)
    url = try line.decode(String.self, forKey: .url)
    source = try line.decode(PageReport.Source.self, forKey: .source)
    status = try line.whole(.status)
    bytes = max(0, try line.whole(.bytes) ?? 0)
    kind = try line.decodeIfPresent(String.self, forKey: .kind)
    ms = try line.whole(.ms)
  }

  /// Writes a request.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(url, forKey: .url)
    try line.encode(source, forKey: .source)
    try line.encode(status, forKey: .status)
    try line.encode(bytes, forKey: .bytes)
    try line.encode(kind, forKey: .kind)
    try line.encode(ms, forKey: .ms)
  }
}

extension PageReport.Message: Codable {
  private enum CodingKeys: String, CodingKey { case level, text, url, line, column }

  /// Reads a message.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    level = try members.decodeIfPresent(String.self, forKey: .level)
    text = try members.decode(String.self, forKey: .text)
    url = try members.decodeIfPresent(String.self, forKey: .url)
    line = try members.whole(.line)
    column = try members.whole(.column)
  }

  /// Writes a message, without what isn't known.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encodeIfPresent(level, forKey: .level)
    try members.encode(text, forKey: .text)
    try members.encodeIfPresent(url, forKey: .url)
    try members.encodeIfPresent(line, forKey: .line)
    try members.encodeIfPresent(column, forKey: .column)
  }
}

extension KeyedDecodingContainer {
  /// Returns a number that may be null or missing.
  /// - Throws: `DecodingError` also for one that nothing here can have.
  fileprivate func number(_ key: Key) throws -> Double? {
    guard let number = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    guard number.magnitude < 1e15 else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "too large")
    }
    return number
  }

  /// Returns the same, rounded.
  fileprivate func whole(_ key: Key) throws -> Int64? { try number(key).map { Int64($0.rounded()) } }
}
