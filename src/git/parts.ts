/** A stream that is several things one after another: a line, then so many bytes, then the rest. */

const MAX_LINE_BYTES = 1000

export function createParts(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]()
  let left: Buffer = Buffer.alloc(0)

  /** What is left of the last chunk, or the next one; undefined at the end. */
  async function take(): Promise<Buffer | undefined> {
    if (left.length === 0) {
      const { value, done } = await chunks.next()
      return done ? undefined : value
    }
    const taken = left
    left = Buffer.alloc(0)
    return taken
  }

  async function* rest(): AsyncGenerator<Buffer> {
    for (let chunk = await take(); chunk; chunk = await take()) yield chunk
  }

  return {
    /** Without its end; undefined if the stream is empty. */
    async line(): Promise<string | undefined> {
      let seen = Buffer.alloc(0)
      for await (const chunk of rest()) {
        seen = Buffer.concat([seen, chunk])
        const end = seen.indexOf(0x0a)
        if (end >= 0) {
          left = seen.subarray(end + 1)
          return seen.toString('latin1', 0, end)
        }
        if (seen.length > MAX_LINE_BYTES) break
      }
      if (seen.length === 0) return undefined
      throw new Error('a line has no end')
    },

    /** Fails if there are fewer. */
    async *next(bytes: number): AsyncGenerator<Buffer> {
      let missing = bytes
      while (missing > 0) {
        const chunk = await take()
        if (!chunk) throw new Error(`${missing} bytes are missing`)
        left = chunk.subarray(missing)
        missing -= Math.min(missing, chunk.length)
        yield chunk.subarray(0, chunk.length - left.length)
      }
    },

    rest,

    /** The rest is not read. */
    async close() {
      await chunks.return?.()
    },
  }
}
