/**
 * Text of headers by HTTP's rules, which know bytes and ASCII. Node gives each byte as one character, and JavaScript's own
 * `trim()` and `\s` take U+00A0 for a blank: a value that they call the same is another one to the app.
 */

/** Without the blanks around it: spaces and tabs, and nothing else (RFC 9110, section 5.6.3). */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/** Letters of ASCII in lower case; every other byte stays what it is. */
export const lowerAscii = (text: string): string =>
  OTHER.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text.toLowerCase()

const OTHER = /[^\0-\x7f]/

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
