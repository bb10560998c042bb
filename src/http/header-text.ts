/**
 * Header text by the rules of HTTP, which are about bytes and ASCII. Node gives each byte as one character, and
 * JavaScript's own `trim()` and `\s` treat U+00A0 as a blank: values that are equal after them differ for the app.
 */

/** Without leading and trailing spaces and tabs (RFC 9110, section 5.6.3). */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/** ASCII letters in lower case; every other byte is unchanged. */
export const lowerAscii = (text: string): string =>
  OTHER.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text.toLowerCase()

const OTHER = /[^\0-\x7f]/

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
