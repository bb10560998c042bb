/** Numbers as people read them in a log. */
import { bytesInWords, durationInWords } from '../../base/index.ts'
import type { Size } from './untrusted-folder.ts'

export { bytesInWords }

/** 334 MB in 11,226 files. */
export const inWords = ({ files, bytes }: Size): string =>
  `${bytesInWords(bytes)} in ${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`

/** 4.2 s, and 2 min 5 s. */
export const secondsInWords = (ms: number): string => durationInWords(ms / 1000)
