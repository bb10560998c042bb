/** Paths as people read them. They are a visitor's to choose, so only what is printed as it is written is decoded. */

/** Letters, digits and what stands between them; nothing that hides, or turns the direction of the text. */
const PRINTED = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u

/** `/m%C3%BCnchen` as `/münchen`; as it was asked for, where that would not be one line of plain text. */
export function readable(path: string): string {
  try {
    const decoded = decodeURI(path)
    return PRINTED.test(decoded) ? decoded : path
  } catch {
    return path
  }
}

/** Whether the path is all of what was asked for: nothing is masked or cut off. */
export const isWhole = (path: string): boolean => path.startsWith('/') && !/[{}…]/.test(path)
