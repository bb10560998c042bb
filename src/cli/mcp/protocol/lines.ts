/** Lines of a stream of bytes. A longer one than is allowed is dropped as it comes, so it takes no memory. */

export type Line = { text: string } | { isTooLong: true }

const LINE_FEED = 10

export async function* linesOf(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const chunk of input) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, from)
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end)
      bytes += piece.length
      if (bytes > maxBytes) held = []
      else held.push(piece)
      from += piece.length + 1
      if (end === -1) break
      yield bytes > maxBytes ? { isTooLong: true } : { text: Buffer.concat(held).toString('utf8') }
      held = []
      bytes = 0
    }
  }
  // What has no line feed at its end is no message, since the client may have ended in the middle of it.
}
