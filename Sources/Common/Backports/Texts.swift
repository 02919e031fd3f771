#if canImport(Darwin)
  extension String {
    /// As the standard library's, which needs iOS 18.
    package init?(validating bytes: some Collection<UInt8>, as _: UTF8.Type) {
      self.init(decoding: bytes, as: UTF8.self)
      // What isn't UTF-8 was replaced.
      guard utf8.elementsEqual(bytes) else { return nil }
    }
  }
#endif
