/// What the program writes when it has started: from now on, it takes jobs.
public struct EngineReady: Codable, Hashable, Sendable {
  /// The engine's own name for itself: `WebKitGTK 2.48.1`; nil if it has none.
  public let engine: String?
  /// The version of the manifest that the device's folder holds.
  public let version: String?

  private enum CodingKeys: String, CodingKey { case ready, engine, version }

  /// Creates the line.
  public init(engine: String, version: String) {
    self.engine = engine
    self.version = version
  }

  /// Reads the line.
  /// - Throws: `DecodingError` if it has no `"ready": true`.
  public init(from decoder: any Decoder) throws {
    let line = try decoder.container(keyedBy: CodingKeys.self)
    guard try line.decode(Bool.self, forKey: .ready) else {
      throw DecodingError.dataCorruptedError(forKey: .ready, in: line, debugDescription: "not ready")
    }
    engine = try line.decodeIfPresent(String.self, forKey: .engine)
    version = try line.decodeIfPresent(String.self, forKey: .version)
  }

  /// Writes the line.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(true, forKey: .ready)
    try line.encodeIfPresent(engine, forKey: .engine)
    try line.encodeIfPresent(version, forKey: .version)
  }
}

/// What the program writes if it can't start, or can't read a line.
public struct EngineFailure: Codable, Hashable, Sendable {
  /// The job's number; nil if the line has none, or isn't a job.
  public let id: Int?
  /// What is wrong, for people.
  public let error: String

  /// Creates the line.
  public init(id: Int? = nil, error: String) {
    self.id = id
    self.error = error
  }
}
