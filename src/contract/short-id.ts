/** Short ids for people. Many ids begin with the same time, so the end of an id identifies it. */

/** The short form of an id, or of a resource name that ends with one, as the portal and the command line show it. */
export const shortId = (id: string): string => id.slice(id.lastIndexOf('/') + 1).slice(-SHORT_ID_LENGTH)

const SHORT_ID_LENGTH = 8
const TAIL = /^[0-9a-f-]{8,36}$/

/** Whether a text can be the end of an id: at least as long as the short form. */
export const isIdTail = (text: string): boolean => TAIL.test(text)
