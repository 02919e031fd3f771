// Modules that import System get the backports, too.
@_exported import Backports
