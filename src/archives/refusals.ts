/** All refusals of an archive, each with the entry that caused it. */
import { Problem } from '../contract/index.ts'
import type { ArchiveLimits } from './limits.ts'

export const notZip = (why: string, cause?: unknown): Problem =>
  new Problem('ARCHIVE_NOT_ZIP', `The file is not a zip archive, or it is damaged: ${why}.`, {
    metadata: { why },
    cause,
  })

export const unsafe = (name: string, why: string): Problem => blame('ARCHIVE_ENTRY_UNSAFE', name, why)
export const duplicate = (name: string, why: string): Problem => blame('ARCHIVE_ENTRY_DUPLICATE', name, why)
export const encrypted = (name: string): Problem => blame('ARCHIVE_ENCRYPTED', name, 'encrypted')
export const sizeLies = (name: string, why: string): Problem => blame('ARCHIVE_SIZE_LIES', name, why)

function blame(reason: Problem['reason'], name: string, why: string): Problem {
  const entry = printable(name)
  return new Problem(reason, `${entry}: ${why}.`, { metadata: { entry, why } })
}

const MEASURES = {
  archiveBytes: 'bytes',
  entries: 'entries',
  unpackedBytes: 'bytes when unpacked',
  pathBytes: 'bytes in one name',
  namesBytes: 'bytes in all names together',
} as const

export function tooLarge(what: keyof typeof MEASURES, limits: ArchiveLimits, name?: string): Problem {
  const limit = String(limits[what])
  return new Problem('ARCHIVE_TOO_LARGE', `The archive has more than ${limit} ${MEASURES[what]}.`, {
    metadata: { what, limit, ...(name === undefined ? {} : { entry: printable(name) }) },
  })
}

const MAX_SHOWN_CHARACTERS = 200

/** A name that is safe in a reply or a log: characters that move the cursor or change the direction of text are escaped. */
export function printable(name: string): string {
  const escaped = [...name.slice(0, 2 * MAX_SHOWN_CHARACTERS)].map((character) =>
    /[\p{C}\p{Zl}\p{Zp}]/u.test(character) ? `\\u{${character.codePointAt(0)?.toString(16)}}` : character,
  )
  let shown = ''
  for (const character of escaped) {
    if (shown.length + character.length > MAX_SHOWN_CHARACTERS) return shown
    shown += character
  }
  return shown
}
