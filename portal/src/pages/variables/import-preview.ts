/** A preview of an import, name by name. */
import type { EnvEntry } from './parse-env.ts'
import { isReserved } from './reserved.ts'

export type Effect = 'new' | 'changed' | 'same' | 'refused'
export type Previewed = EnvEntry & { effect: Effect; why?: string }

/** As the service has them (docs/reference/limits.md). */
const MAX_KEY = 128
const MAX_VALUE_BYTES = 64 * 1024

/** `current` has the values as they are now, unsaved changes included; undefined where the value is not known. */
export function previewOf(entries: readonly EnvEntry[], current: ReadonlyMap<string, string | undefined>): Previewed[] {
  return entries.map((entry) => {
    const why = refusal(entry)
    if (why !== undefined) return { ...entry, effect: 'refused', why }
    if (!current.has(entry.key)) return { ...entry, effect: 'new' }
    return { ...entry, effect: current.get(entry.key) === entry.value ? 'same' : 'changed' }
  })
}

/** The names that an import accepts. */
export const wantedOf = (previewed: readonly Previewed[]): Previewed[] =>
  previewed.filter(({ effect }) => effect === 'new' || effect === 'changed')

function refusal({ key, value }: EnvEntry): string | undefined {
  if (isReserved(key)) return 'is set by the service'
  if (key.length > MAX_KEY) return `has a name of more than ${MAX_KEY} characters`
  if (new TextEncoder().encode(value).length > MAX_VALUE_BYTES) return 'has a value of more than 64 KB'
  return value.includes('\0') ? 'has a character that no variable can have' : undefined
}
