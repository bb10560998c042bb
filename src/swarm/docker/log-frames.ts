/**
 * Output of a container as Docker sends it: frames with a header of eight bytes (which stream, three zeros, the length of what
 * follows), each of them one piece of a line that begins with its time.
 */

export type TaskOutput = {
  stream: 'stdout' | 'stderr'
  /** By the clock of the node, as Docker writes it: nanoseconds, in digits that sort as texts. */
  time: string
  /** Without the time. The last piece of a line ends with its end. */
  bytes: Buffer
}

/** Docker cuts lines at 16 KiB, and adds the time. */
const MAX_FRAME_BYTES = 64 * 1024
const HEADER_BYTES = 8
const STREAMS = ['stdin', 'stdout', 'stderr'] as const
const BLANK = 0x20
/** RFC 3339 with nanoseconds, always in UTC. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/
const TIME_LENGTH = '2026-01-01T00:00:00.000000000Z'.length

/** Throws where it is something else than frames of output: nothing of it is guessed. */
export async function* outputIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TaskOutput> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = rest.byteLength === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    let at = 0
    while (rest.byteLength - at >= HEADER_BYTES) {
      const length = rest.readUInt32BE(at + 4)
      if (length > MAX_FRAME_BYTES) throw new Error(`a frame of output has ${length} bytes`)
      const end = at + HEADER_BYTES + length
      if (rest.byteLength < end) break
      const stream = STREAMS[rest[at] as number]
      if (stream !== 'stdout' && stream !== 'stderr') throw new Error(`a frame of output is of stream ${rest[at]}`)
      yield { stream, ...timed(rest.subarray(at + HEADER_BYTES, end)) }
      at = end
    }
    rest = rest.subarray(at)
  }
}

function timed(frame: Buffer): { time: string; bytes: Buffer } {
  const time = frame.toString('latin1', 0, TIME_LENGTH)
  if (!TIME.test(time) || frame[TIME_LENGTH] !== BLANK) throw new Error('a line of output has no time')
  return { time, bytes: frame.subarray(TIME_LENGTH + 1) }
}
