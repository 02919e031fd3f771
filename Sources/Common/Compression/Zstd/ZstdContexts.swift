#if canImport(CZstd)
  import CZstd

  /// Encodes many small pieces, each as its own zstd frame, with one context: setting up libzstd takes longer than
  /// encoding one.
  ///
  /// Not thread-safe.
  package final class ZstdCompressor {
    private let context: OpaquePointer

    /// - Parameter level: the libzstd level, 1 (fast) to 19 (small).
    package init(level: Int32) {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
      self.context = context
    }

    deinit { ZSTD_freeCCtx(context) }

    /// Returns a frame without a checksum, in an array of exactly its size.
    package func encode(_ bytes: [UInt8]) -> [UInt8] {
      let room = ZSTD_compressBound(bytes.count)
      return withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { out in
        let count = bytes.withUnsafeBytes {
          ZSTD_compress2(context, out.baseAddress, room, $0.baseAddress, $0.count)
        }
        if ZSTD_isError(count) != 0 { fatalError("libzstd: \(String(cString: ZSTD_getErrorName(count)))") }
        return [UInt8](out[..<count])
      }
    }
  }

  /// Decodes frames of a ``ZstdCompressor``, one after another. Not thread-safe.
  package final class ZstdDecompressor {
    private let context: OpaquePointer

    package init() {
      guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
      self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// Returns the `count` bytes of a frame.
    /// - Throws: `damaged`, if the frame is damaged or has another number of bytes.
    package func decode(_ frame: [UInt8], count: Int) throws(CodingError) -> [UInt8] {
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { out, written in
        let made = frame.withUnsafeBytes {
          ZSTD_decompressDCtx(context, out.baseAddress, count, $0.baseAddress, $0.count)
        }
        written = ZSTD_isError(made) != 0 ? 0 : made
      }
      guard bytes.count == count else { throw .damaged }
      return bytes
    }
  }
#endif
