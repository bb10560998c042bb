/** The rows of one log as a place for its lines. */
import { randomToken } from '../../../base/index.ts'
import { numberOf } from '../line-texts.ts'
import type { LinePlace } from '../line-writer.ts'
import type { WriterOptions } from '../log-set.ts'
import type { Batches } from './batches.ts'
import type { Piece, Written } from './chunks.ts'

/** Beyond this, lines are more than one row. */
const MAX_CHARACTERS = 256 * 1024

type Parts = Pick<WriterOptions, 'whenFull' | 'maxBytes'> & {
  name: string
  bytes: number
  batches: Batches<Piece, Written>
  /** The number of the last line of a piece that is there. */
  find(piece: Piece): Promise<number | undefined>
  rotateBefore(time: number): Promise<void>
}

export function createChunkPlace({ name, whenFull, maxBytes, batches, find, ...parts }: Parts): LinePlace {
  let { bytes } = parts
  /** Lines that may have been written: the connection was lost during the commit, say. */
  let unsure: Piece | undefined

  /** How many characters of these lines are there already, and the number of the last of those. */
  async function findWritten(lines: string): Promise<{ length: number; lastNumber: number } | undefined> {
    if (!unsure || !lines.startsWith(unsure.lines)) return undefined
    const lastNumber = await find(unsure)
    return lastNumber === undefined ? undefined : { length: unsure.lines.length, lastNumber }
  }

  return {
    bytes: () => bytes,
    turn: batches.turn,
    hurry: batches.hurry,
    maxCharacters: MAX_CHARACTERS,

    async append(lines, { firstTime, lastNumber }) {
      const before = await findWritten(lines)
      unsure = undefined
      const rest = lines.slice(before?.length ?? 0)
      if (before && rest === '') return before.lastNumber
      const numbers = { firstNumber: numberOf(rest), lastNumber }
      const piece = { name, whenFull, maxBytes, lines: rest, firstTime, ...numbers, writeId: randomToken() }
      unsure = piece
      const written = await batches.append(piece)
      unsure = undefined
      bytes = written.openBytes
      return written.lastNumber
    },

    rotateBefore: parts.rotateBefore,
    close: async () => undefined,
  }
}
