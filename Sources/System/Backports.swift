// Whoever imports System has them, too.
@_exported import Backports
