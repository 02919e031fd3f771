import System

/// A page's screenshot, as the engine's program wrote it.
struct Picture {
  private let bytes: [UInt8]

  private static let limit = 64 << 20
  /// The signature of PNG files (PNG specification §5.2).
  private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

  /// Reads a screenshot; nil if there is none, such as for a page that didn't load.
  init?(reading path: String) throws {
    guard let bytes = try DurableFile.read(path, limit: Self.limit) else { return nil }
    guard bytes.starts(with: Self.signature) else {
      throw PreviewError.notAPicture
    }
    self.bytes = bytes
  }

  func write(to path: String) throws { try DurableFile.write(bytes, to: path) }
}
