export { checkPasswordHash, makePasswordHash, matchesPasswordHash, randomPasswordHash } from './password-hash.ts'
