/** The files of a log, as readers see them: lines by position, a piece at a time, while a writer appends to them. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { absent } from '../../base/index.ts'
import { type NumberedLine, parseLines } from './line-texts.ts'

const PIECE_BYTES = 256 * 1024
/** No line is longer than this in the file. */
const MAX_LINE_BYTES = 128 * 1024

export type Tail<Line extends NumberedLine> = NonNullable<Awaited<ReturnType<typeof openTail<Line>>>>

/** Lines as they are appended to a file, by position and not from the start each time. */
export async function openTail<Line extends NumberedLine>(path: string) {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return undefined
  const { ino } = await file.stat()
  let position = 0
  let rest = ''
  const decoder = new StringDecoder('utf8')
  return {
    async read(): Promise<Line[]> {
      const { size } = await file.stat()
      if (size <= position) return []
      const buffer = Buffer.alloc(Math.min(size - position, PIECE_BYTES))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
      position += bytesRead
      const text = rest + decoder.write(buffer.subarray(0, bytesRead))
      const end = text.lastIndexOf('\n') + 1
      rest = text.slice(end)
      return parseLines(text.slice(0, end))
    },
    /** Of the first line, wherever reading is; undefined where there is none. */
    firstNumber: async (): Promise<number | undefined> => (await firstLineIn(file))?.number,
    async isReplaced(): Promise<boolean> {
      const now = await stat(path).catch(absent)
      return now?.ino !== ino
    },
    close: () => file.close(),
  }
}

/** The same from the end to the start: the last line first. A line that is being written meanwhile is left out. */
export async function* piecesBackwards<Line extends NumberedLine>(path: string): AsyncGenerator<Line[]> {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return
  try {
    let { size: end } = await file.stat()
    /** The end of a line that begins further to the front. */
    let rest = Buffer.alloc(0)
    while (end > 0) {
      const buffer = Buffer.alloc(Math.min(end, PIECE_BYTES))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, end - buffer.length)
      // The file was cut off meanwhile: a full disk took back what was not written whole.
      if (bytesRead < buffer.length) return
      end -= buffer.length
      const whole = Buffer.concat([buffer, rest])
      const begin = end === 0 ? 0 : whole.indexOf(LINE_END) + 1
      rest = Buffer.from(begin === 0 && end > 0 ? whole : whole.subarray(0, begin))
      const lines = parseLines<Line>(whole.subarray(rest.length).toString('utf8')).reverse()
      if (lines.length > 0) yield lines
    }
  } finally {
    await file.close()
  }
}

const LINE_END = 0x0a

/** The time of the first line; undefined where there is none. */
export const firstTimeOf = async (path: string): Promise<number | undefined> => (await firstLineOf(path))?.time

export async function firstLineOf(path: string): Promise<NumberedLine | undefined> {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return undefined
  try {
    return await firstLineIn(file)
  } finally {
    await file.close()
  }
}

async function firstLineIn(file: FileHandle): Promise<NumberedLine | undefined> {
  const { size } = await file.stat()
  const buffer = Buffer.alloc(Math.min(size, MAX_LINE_BYTES))
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
  const end = buffer.subarray(0, bytesRead).indexOf(LINE_END) + 1
  return parseLines(buffer.subarray(0, end).toString('utf8'))[0]
}

/** How long a file is, whether it ends in the middle of a line, and the number of its last whole one. */
export async function endOf(path: string): Promise<{ bytes: number; isTorn: boolean; lastNumber: number | undefined }> {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return { bytes: 0, isTorn: false, lastNumber: undefined }
  try {
    const { size } = await file.stat()
    const buffer = Buffer.alloc(Math.min(size, MAX_LINE_BYTES))
    await file.read(buffer, 0, buffer.length, size - buffer.length)
    const text = buffer.toString('utf8')
    return { bytes: size, isTorn: text !== '' && !text.endsWith('\n'), lastNumber: parseLines(text).at(-1)?.number }
  } finally {
    await file.close()
  }
}
