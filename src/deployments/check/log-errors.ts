/**
 * Errors that an app has written to its log while it was asked. The live version writes to the same log, so they are told and
 * hold nothing.
 */
import type { resources } from '../../contract/index.ts'
import type { LineLogs } from '../../storage/index.ts'

const MAX_LINES = 5000
const MAX_SHOWN = 5
const MAX_LENGTH = 200

/** Frames of a stack and the rest of a message are not errors of their own. */
const ERROR = /^(?! {2}|\t).*(?:\b[A-Z]?\w*(?:Error|Exception)\b|\bunhandled\b|\bfatal\b|⨯)/i

export const isErrorLine = (text: string): boolean => ERROR.test(text.slice(0, 1000))

export async function errorsSince(
  logs: Pick<LineLogs, 'pieces'>,
  name: string,
  after: number,
): Promise<NonNullable<resources.PromotionCheck['logErrors']>> {
  const lines: string[] = []
  let [count, read] = [0, 0]
  for await (const piece of logs.pieces(name, after)) {
    for (const { stream, text } of piece) {
      if (stream !== 'stderr' || !isErrorLine(text)) continue
      count++
      if (lines.length < MAX_SHOWN) lines.push(text.slice(0, MAX_LENGTH))
    }
    read += piece.length
    if (read >= MAX_LINES) break
  }
  return { count, lines }
}
