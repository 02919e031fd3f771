import Store
import System

extension StoredBlob {
  /// All bytes, for a small one.
  borrowing func bytes() throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(clamping: size))
    var filled = 0
    while filled < bytes.count {
      let read = bytes.withUnsafeMutableBytes { (buffer) -> Result<Int, SystemError> in
        do throws(SystemError) {
          return .success(
            try Kernel.read(
              file, at: Int64(filled), into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])))
        } catch {
          return .failure(error)
        }
      }
      do throws(SystemError) {
        let count = try read.get()
        if count == 0 { break }
        filled += count
      } catch {
        throw .system(error)
      }
    }
    return Array(bytes.prefix(filled))
  }
}
