/// Why bytes are not decoded.
package enum ZstdError: Error, Equatable, Sendable {
  /// The bytes end inside of a frame, or before the first.
  case truncated
  /// What stands here begins no frame (RFC 8878 §3.1), at this byte of the input.
  case noFrame(at: Int64)
  /// A frame breaks a rule of its format. `at`: the byte of the input at which its header or the block begins.
  case corrupted(ZstdFault, at: Int64)
  /// A frame asks for a window of so many bytes, more than the caller allows.
  case windowTooLarge(UInt64)
  /// Decoding would give more bytes than the caller allows.
  case overLimit
  /// A frame needs the formatted dictionary of this number (RFC 8878 §5); raw content has none.
  case dictionaryNeeded(UInt32)
  /// The bytes that were decoded are others than those which were coded.
  case checksum
  /// Bytes follow the one frame that was asked for.
  case trailing(at: Int64)
}

/// The rule that a frame breaks; sections are those of RFC 8878.
package enum ZstdFault: Error, Equatable, Sendable {
  /// The bit that has to be zero isn't (§3.1.1.1.1).
  case reservedBit
  /// A frame's content is more, or less, than its header says (§3.1.1.1.4).
  case contentSize
  /// Block type 3 (§3.1.1.2.2).
  case blockType
  /// A block is larger than Block_Maximum_Size, coded or decoded (§3.1.1.2.4).
  case blockSize
  /// A compressed block has no bytes, and so none of its sections (§3.1.1.3).
  case emptyBlock
  /// The literals section is longer than its block, or has sizes that it can't have (§3.1.1.3.1.1).
  case literalsHeader
  /// The literals use the tree of a block before them, and there was none (§3.1.1.3.1.1).
  case noTree
  /// The description of a Huffman tree isn't one (§4.2.1).
  case tree
  /// A tree has codes of more than 11 bits (§4.2.1).
  case treeDepth
  /// A tree's weights are read beyond the beginning of their bits (§4.2.1.2).
  case treeBits
  /// A stream of literals doesn't end with its last one (§4.2.2).
  case literals
  /// The sequences section is longer than its block, or continues after it says that it has no sequence (§3.1.1.3.2).
  case sequencesHeader
  /// The bits that have to be zero aren't (§3.1.1.3.2.1).
  case reservedModes
  /// The description of a distribution isn't one (§4.1.1).
  case distribution
  /// The description of a distribution goes on behind the end of its block (§4.1.1).
  case distributionEnd
  /// The sequences use the table of a block before them, and there was none (§3.1.1.3.2.1).
  case noTable
  /// The bits of the sequences don't end with the last one (§3.1.1.3.2.1.2).
  case sequences
  /// Sequences copy more literals than there are (§3.1.1.4).
  case literalsRunOut
  /// A match begins before the first byte that there is (§3.1.1.4).
  case offset
  /// A match begins farther back than the window reaches (§3.1.1.4), or, in the dictionary, after so many bytes (§5).
  case farOffset
  /// A match is at distance 0: the most recent offset less one (§3.1.1.5).
  case zeroOffset
}
