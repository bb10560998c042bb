/** Text of others for a terminal. */

/** What moves a cursor, changes a title, hides or reorders: controls, formats, lone halves and line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu

/** The same text with everything visible that a terminal would act upon, as `\u{1b}`. It is one line. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
