/** Paths for display. Visitors choose them, so only printable text is decoded. */

/** Letters, digits and punctuation; no invisible characters and no direction marks. */
const PRINTED = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u

/** `/m%C3%BCnchen` as `/münchen`; unchanged if the decoded path is not one line of plain text. */
export function readable(path: string): string {
  try {
    const decoded = decodeURI(path)
    return PRINTED.test(decoded) ? decoded : path
  } catch {
    return path
  }
}

/** Whether this is the complete requested path: nothing is masked or cut off. */
export const isWhole = (path: string): boolean => path.startsWith('/') && !/[{}…]/.test(path)
