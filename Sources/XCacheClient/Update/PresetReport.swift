/// What became of a preset zip.
public struct PresetReport: Hashable, Sendable {
  /// False where the device holds the zip's version already, or a newer one; then nothing was changed.
  public let isTaken: Bool
  /// The zip's manifest version.
  public let version: String
  /// The version held before; `0`: none.
  public let from: String
  /// Files that came out of the zip.
  public internal(set) var files = 0
  /// Their bytes.
  public internal(set) var bytes: Int64 = 0
  /// Files made of bytes that the device held already, and listed files that stayed as they were.
  public internal(set) var held = 0

  init(isTaken: Bool, version: String, from: String) {
    self.isTaken = isTaken
    self.version = version
    self.from = from
  }
}
