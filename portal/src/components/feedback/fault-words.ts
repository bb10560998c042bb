/** The error of a field, as a sentence under it. The API returns a phrase that follows the name of the field. */

const FOLLOWS_A_NAME = /^(?:is|are|has|have|must|may|names) /

/** `Name` and `must not be empty` as `Name must not be empty.`; a message that is already a sentence is not changed. */
export function sentenceOf(label: string, fault: string): string {
  const name = label.replace(/ \(optional\)$/, '')
  const sentence = FOLLOWS_A_NAME.test(fault) ? `${name} ${fault}` : fault
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
