/** The tar of a backup: every kind of entry that a data folder has, in a format that stays as it is. */
import { createTar } from '../tar/index.ts'
import { broken } from './entry.ts'

export const { headerOf, bytesOf, nextHeader, entryOf, skipPadding } = createTar({
  kinds: ['file', 'folder', 'symlink', 'hardlink', 'whiteout'],
  isHeaderAscii: false,
  extended: (entry) => ({ ...entry, mode: 0o600 }),
  broken,
})
