/** What is wrong with a field, as a sentence under it. The API tells it in words that follow the name of the field. */

const FOLLOWS_A_NAME = /^(?:is|are|has|have|must|may|names) /

/** `Name` and `must not be empty` as `Name must not be empty.`; what is a sentence already stays as it is. */
export function sentenceOf(label: string, fault: string): string {
  const name = label.replace(/ \(optional\)$/, '')
  const sentence = FOLLOWS_A_NAME.test(fault) ? `${name} ${fault}` : fault
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
