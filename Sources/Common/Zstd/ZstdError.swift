/// Why bytes can't be decoded.
package enum ZstdError: Error, Equatable, Sendable {
  /// The bytes end inside a frame, or before the first one.
  case truncated
  /// The bytes at this offset of the input aren't the beginning of a frame (RFC 8878 §3.1).
  case noFrame(at: Int64)
  /// A frame violates a rule of its format. `at` is the offset in the input at which its header or the block begins.
  case corrupted(ZstdFault, at: Int64)
  /// A frame needs a window of this many bytes, more than the caller allows.
  case windowTooLarge(UInt64)
  /// Decoding would produce more bytes than the caller allows.
  case overLimit
  /// A frame needs the formatted dictionary with this number (RFC 8878 §5); raw content has no number.
  case dictionaryNeeded(UInt32)
  /// The decoded bytes don't match the frame's checksum.
  case checksum
  /// Bytes follow the only frame that is accepted.
  case trailing(at: Int64)
}

/// The rule that a frame violates; sections are those of RFC 8878.
package enum ZstdFault: Error, Equatable, Sendable {
  /// The reserved bit isn't zero (§3.1.1.1.1).
  case reservedBit
  /// A frame's content is longer or shorter than its header says (§3.1.1.1.4).
  case contentSize
  /// Block type 3 (§3.1.1.2.2).
  case blockType
  /// A block is larger than Block_Maximum_Size, coded or decoded (§3.1.1.2.4).
  case blockSize
  /// A compressed block is empty, so its sections are missing (§3.1.1.3).
  case emptyBlock
  /// The literals section is longer than its block, or has impossible sizes (§3.1.1.3.1.1).
  case literalsHeader
  /// The literals use the tree of an earlier block, but there is none (§3.1.1.3.1.1).
  case noTree
  /// The description of a Huffman tree is invalid (§4.2.1).
  case tree
  /// A tree has codes of more than 11 bits (§4.2.1).
  case treeDepth
  /// A tree's weights need more bits than there are (§4.2.1.2).
  case treeBits
  /// A stream of literals doesn't end with its last literal (§4.2.2).
  case literals
  /// The sequences section is longer than its block, or continues although it has no sequences (§3.1.1.3.2).
  case sequencesHeader
  /// The reserved bits aren't zero (§3.1.1.3.2.1).
  case reservedModes
  /// The description of a distribution is invalid (§4.1.1).
  case distribution
  /// The description of a distribution extends past the end of its block (§4.1.1).
  case distributionEnd
  /// The sequences use the table of an earlier block, but there is none (§3.1.1.3.2.1).
  case noTable
  /// The bits of the sequences don't end with the last sequence (§3.1.1.3.2.1.2).
  case sequences
  /// Sequences copy more literals than there are (§3.1.1.4).
  case literalsRunOut
  /// A match begins before the first available byte (§3.1.1.4).
  case offset
  /// A match begins before the window (§3.1.1.4), or in the dictionary when that is no longer accessible (§5).
  case farOffset
  /// A match has offset 0: the most recent offset minus one (§3.1.1.5).
  case zeroOffset
}
