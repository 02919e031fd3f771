// swift-format-ignore-file
// A stand-in for Apple's CryptoKit: what `System/Hashes/CryptoKit.swift` uses, from Apple's documentation.

public protocol Digest: Sequence, Sendable where Element == UInt8 {}

public protocol HashFunction {
  associatedtype Output: Digest
  init()
  mutating func update(bufferPointer: UnsafeRawBufferPointer)
  func finalize() -> Output
}

public struct SHA256Digest: Digest {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: HashFunction, Sendable {
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
  public func finalize() -> SHA256Digest { SHA256Digest() }
}

public enum Insecure {
  public struct MD5Digest: Digest {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
  }

  public struct MD5: HashFunction, Sendable {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> MD5Digest { MD5Digest() }
  }
}

public enum Curve25519 {
  public enum Signing {
    public struct PublicKey {
      // DataProtocol of Foundation in both; arrays of bytes are.
      public init<D: Collection>(rawRepresentation data: D) throws where D.Element == UInt8 {}
      public func isValidSignature<S: Collection, D: Collection>(_ signature: S, for data: D) -> Bool
      where S.Element == UInt8, D.Element == UInt8 { false }
    }
  }
}

public enum P256 {
  public enum Signing {
    public struct ECDSASignature: Sendable {
      public init<D: Collection>(derRepresentation data: D) throws where D.Element == UInt8 {}
    }

    public struct PublicKey {
      public init<Bytes: RandomAccessCollection>(derRepresentation data: Bytes) throws where Bytes.Element == UInt8 {}
      public func isValidSignature<D: Collection>(_ signature: ECDSASignature, for data: D) -> Bool
      where D.Element == UInt8 { false }
    }
  }
}
