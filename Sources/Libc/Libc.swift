// The C library under one name. The compiler's import search tells which system it is for, so that the device side can be
// type-checked for Apple's on a machine without it (`make check-apple`).
#if canImport(Darwin)
  @_exported import Darwin
#else
  @_exported import Glibc
#endif
