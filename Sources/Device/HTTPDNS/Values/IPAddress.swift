// Part of this library's interface, from where every target has it.
@_exported import struct Values.IPAddress
