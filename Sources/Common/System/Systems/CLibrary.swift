#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

// The C library's functions that `Kernel` and `Output` have members of the same name for, which would hide them.

@inline(__always) func cRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(file, bytes, count)
}

@inline(__always) func cWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(file, bytes, count)
}

@inline(__always) func cRename(_ from: String, _ to: String) -> Int32 { rename(from, to) }
@inline(__always) func cLink(_ existing: String, _ new: String) -> Int32 { link(existing, new) }
@inline(__always) func cClose(_ file: Int32) -> Int32 { close(file) }
