/** The file name of an index of earlier files: a hash of what it is made from. */
import { createHash } from 'node:crypto'

const NAME = /^[0-9a-f]{32}\.index$/

export const indexNameOf = (parts: readonly string[]): string =>
  `${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}.index`

/** What edges of other machines call their index, which they make themselves. */
export const indexDigestOf = (outputs: readonly string[]): string =>
  `sha256:${createHash('sha256').update(JSON.stringify(outputs)).digest('hex')}`

/** A name in a row may come from a backup, and becomes a path. */
export const isIndexName = (name: string): boolean => NAME.test(name)
