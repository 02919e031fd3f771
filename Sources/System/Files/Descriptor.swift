import Glibc

/// An open file descriptor with one owner; closed when the owner lets go.
package struct Descriptor: ~Copyable, Sendable {
  package let raw: Int32

  /// Takes over `raw`, which nothing else may close.
  package init(owning raw: Int32) { self.raw = raw }

  /// Gives the number away: whoever takes it closes it.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  deinit {
    // close(2): after EINTR on Linux the descriptor is gone all the same, so it is never tried again.
    _ = Glibc.close(raw)
  }
}
