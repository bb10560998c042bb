/** The files of a log, as readers see them: lines by position, a piece at a time, while a writer appends to them. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { absent } from '../../base/index.ts'
import type { LogLine } from './line-writer.ts'

const PIECE_BYTES = 256 * 1024
/** No line is longer than this in the file. */
const MAX_LINE_BYTES = 128 * 1024

/** Lines as they are appended to a file, by position and not from the start each time. */
export async function openTail(path: string) {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return undefined
  const { ino } = await file.stat()
  let position = 0
  let rest = ''
  const decoder = new StringDecoder('utf8')
  return {
    async read(): Promise<LogLine[]> {
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
    async isReplaced(): Promise<boolean> {
      const now = await stat(path).catch(absent)
      return now?.ino !== ino
    },
    close: () => file.close(),
  }
}

export async function* piecesOf(path: string): AsyncGenerator<LogLine[]> {
  const tail = await openTail(path)
  if (!tail) return
  try {
    for (let lines = await tail.read(); lines.length > 0; lines = await tail.read()) yield lines
  } finally {
    await tail.close()
  }
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

/** A line that is incomplete because its process died is left out. */
export function parseLines(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as LogLine]
      } catch (error) {
        if (error instanceof SyntaxError) return []
        throw error
      }
    })
}
