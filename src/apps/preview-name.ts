/**
 * The displayName of a preview: its branch, as people know it. One that is too long is cut, and one that another environment of
 * the app has already is told apart, each by a digest of the branch.
 */
import { hash } from 'node:crypto'
import { LIMITS, names } from '../contract/index.ts'

const DIGEST_LENGTH = 8

/** `taken`: displayNames of the app's other environments. Commands find environments by names whatever the case. */
export function previewName(branch: string, taken: readonly string[]): string {
  const inUse = new Set(taken.map(names.fold))
  if (branch.length <= LIMITS.textLength && !inUse.has(names.fold(branch))) return branch
  const digest = hash('sha256', branch).slice(0, DIGEST_LENGTH)
  const cut = branch.slice(0, LIMITS.textLength - DIGEST_LENGTH - 1)
  return `${cut.replace(/[\uD800-\uDBFF]$/, '')}-${digest}`
}
