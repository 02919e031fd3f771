#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The C library's functions of real numbers.
package enum RealMath {
  /// Returns the natural logarithm.
  package static func log(_ x: Double) -> Double { cLog(x) }

  /// Returns the natural logarithm of 1 + `x`, exact also where `x` is close to 0.
  package static func log1p(_ x: Double) -> Double { cLog1p(x) }

  /// Returns e to the power of `x`.
  package static func exp(_ x: Double) -> Double { cExp(x) }
}

// Inside of the type its members would hide them.
private func cLog(_ x: Double) -> Double { log(x) }
private func cLog1p(_ x: Double) -> Double { log1p(x) }
private func cExp(_ x: Double) -> Double { exp(x) }
