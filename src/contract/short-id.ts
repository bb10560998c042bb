/** Ids as people see and type them. An id begins with a time, which many share: its end tells it from others. */

/** What the portal and the command line show of an id, or of a resource name that ends with one. */
export const shortId = (id: string): string => id.slice(id.lastIndexOf('/') + 1).slice(-SHORT_ID_LENGTH)

const SHORT_ID_LENGTH = 8
const TAIL = /^[0-9a-f-]{8,36}$/

/** Whether a text can be the end of an id: as much as is shown of it, or more. */
export const isIdTail = (text: string): boolean => TAIL.test(text)
