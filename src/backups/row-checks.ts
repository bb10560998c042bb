/** What the columns of a backup's rows may hold, where they decide about paths, users and programs. */
import { checkId, isId, isTenantUid } from '../base/index.ts'
import { LIMITS, resources } from '../contract/index.ts'
import { checkObjectId, checkRef } from '../git/index.ts'
import { readAddressRange } from '../http/index.ts'
import { checkDigest, checkedLogName, MAX_CHUNK_BYTES, type Value } from '../storage/index.ts'

export type Check = (value: Value) => void

export const orNull =
  (check: (text: string) => void): Check =>
  (value) => {
    if (value !== null) check(value as string)
  }
export const id: Check = (value) => checkId(value as string)
export const digest: Check = (value) => checkDigest(value as string)
export const json = (check: (value: never) => void): Check => orNull((text) => check(JSON.parse(text) as never))

export function uid(value: Value) {
  if (value !== null && !isTenantUid(value)) throw new Error(`${value} is not the user of an environment`)
}

export function down(value: Value) {
  if (typeof value !== 'string' || value.startsWith('/') || value.split('/').includes('..') || value.includes('\0'))
    throw new Error('the path leads elsewhere')
}

export function label(value: Value) {
  if (value !== null && !/^[a-z0-9-]{1,63}$/.test(String(value))) throw new Error('it is not a label')
}

export function valueName(value: Value) {
  if (!/^[0-9a-f]{64}$/.test(String(value))) throw new Error('it is not the digest of a key')
}

export function valueBytes(value: Value) {
  if (Number(value) > LIMITS.valueBytes) throw new Error('the value is too large for a row')
}

/** The user that a program of a cluster runs as. */
export function serviceUser({ user }: { user: { uid: number; gid: number } }) {
  uid(user.uid)
  uid(user.gid)
}

export function logName(value: Value) {
  checkedLogName(String(value))
}

export function lineNumber(value: Value) {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error('it is not the number of a line')
}

export function count(value: Value) {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error('it is not a count')
}

export function targetKind(value: Value) {
  if (!resources.TARGET_KINDS.some((kind) => kind === value)) throw new Error('it is not a kind of target')
}

export function words(list: unknown) {
  if (!Array.isArray(list) || !list.every((word) => typeof word === 'string'))
    throw new Error('it is not a list of words')
}

export function chunkBytes(value: Value) {
  if (Number(value) > MAX_CHUNK_BYTES) throw new Error('it has too many lines for a row')
}

/** They become arguments of git. */
export function repositoryUrl(value: Value) {
  if (!/^(?:https|ssh):\/\/[a-z0-9[]\S*$/i.test(String(value))) throw new Error('it is not the address of a repository')
}

export function branch(value: Value) {
  if (!/^[^-\s][^\s:]*$/.test(String(value))) throw new Error('it is not the name of a branch')
}

/** PostgreSQL uses it as a number of 32 bits, and it has to rise. */
const MAX_TERM = 1_000_000_000

export function term(value: Value) {
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > MAX_TERM) throw new Error('it is not a term')
}

export function nodeId(value: Value) {
  if (!/^[a-z0-9]{1,64}$/.test(String(value))) throw new Error('it is not the id of a node')
}

/** Requests in flight, by deployment. */
export function requestCounts(loads: Record<string, number>) {
  if (!Object.entries(loads).every(([name, count]) => isId(name) && Number.isSafeInteger(count) && count >= 0))
    throw new Error('it has what is no number of requests')
}

/** They become a program for the kernel's firewall. */
export function nodeRules(rules: Record<string, (string | { address: string })[]>) {
  const addresses = Object.values(rules).flatMap((list) =>
    list.map((one) => (typeof one === 'string' ? one : one.address)),
  )
  if (addresses.some((address) => readAddressRange(address)?.family !== 'ipv4'))
    throw new Error('it has what is no IPv4 address')
}

/** It becomes a line of a file that git reads. */
export function refName(value: Value) {
  checkRef({ name: String(value), from: null, to: '' })
}

export function objectId(value: Value) {
  checkObjectId(String(value))
}
