/** The addresses from which a site can be seen, as they are typed: one on each line. */
import type { Problem } from '../../api/problem.ts'

export const FAULT_FIELD = 'protection.addresses'

export const addressesIn = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The API names the entry by its number; the user sees the entry itself. */
export function addressFault(problem: Problem | undefined, addresses: readonly string[]): string | undefined {
  for (const [field, description] of Object.entries(problem?.fields ?? {})) {
    const [, index] = /^protection\.addresses\[(\d+)\]$/.exec(field) ?? []
    if (index !== undefined) return `has ${addresses[Number(index)] ?? 'an entry'}, which ${description}`
  }
  return undefined
}
