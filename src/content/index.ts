export { type Changed, type ChangedItem, inWords, purgeTagsOf, united } from './changed.ts'
export { readNamed, readPayload } from './payloads.ts'
