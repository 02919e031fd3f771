import System

/// A new file that an answer is written to.
final class WrittenFile {
  private let file: Descriptor

  init(_ path: String) throws(MirrorError) {
    file = try MirrorError.disk { () throws(SystemError) in
      try Kernel.open(path, [.write, .create, .truncate], mode: 0o644)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws { try Kernel.write(bytes.bytes, to: file) }
}
