/** A stream of bytes that is read in counts. */

export type Bytes = {
  /** Exactly this many bytes; throws if there are fewer. */
  take(count: number): Promise<Buffer>
  /** The same, in the pieces in which they arrive. */
  pieces(count: number): AsyncGenerator<Buffer>
  /** Whether the input has ended. */
  isOver(): Promise<boolean>
}

export function bytesFrom(source: AsyncIterable<Uint8Array>, cutOff: () => Error): Bytes {
  const iterator = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function more(): Promise<boolean> {
    const next = await iterator.next()
    if (next.done) return false
    const { buffer, byteOffset, byteLength } = next.value
    const piece = Buffer.from(buffer, byteOffset, byteLength)
    rest = rest.byteLength === 0 ? piece : Buffer.concat([rest, piece])
    return true
  }

  return {
    async take(count) {
      while (rest.byteLength < count) if (!(await more())) throw cutOff()
      const taken = rest.subarray(0, count)
      rest = rest.subarray(count)
      return taken
    },
    async *pieces(count) {
      for (let left = count; left > 0; ) {
        if (rest.byteLength === 0 && !(await more())) throw cutOff()
        const piece = rest.subarray(0, left)
        rest = rest.subarray(piece.byteLength)
        left -= piece.byteLength
        if (piece.byteLength > 0) yield piece
      }
    },
    async isOver() {
      while (rest.byteLength === 0) if (!(await more())) return true
      return false
    },
  }
}
