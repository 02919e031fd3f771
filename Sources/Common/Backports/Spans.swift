#if canImport(Darwin)
  extension Array {
    /// As the standard library's, which needs iOS 26; for arrays that Swift made itself, whose elements stand in one place.
    package var span: Span<Element> {
      @_lifetime(borrow self)
      get {
        let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
        return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
      }
    }
  }
#endif
