/**
 * Which variables are secrets: their values are removed from logs, and shown only to callers who ask for them and may
 * see secrets.
 */
import { oneOf } from './schema.ts'

export const VARIABLE_KINDS = ['SECRET', 'PLAIN'] as const
export type VariableKind = (typeof VARIABLE_KINDS)[number]

/** Frameworks write variables with these names into files that every visitor can read. */
export const PUBLIC_PREFIXES: readonly string[] = [
  'NEXT_PUBLIC_',
  'NUXT_PUBLIC_',
  'PUBLIC_',
  'VITE_',
  'REACT_APP_',
  'GATSBY_',
  'EXPO_PUBLIC_',
]

/** The kind of a new variable that is sent without one. Frameworks distinguish case, so these prefixes do too. */
export const kindByName = (key: string): VariableKind =>
  PUBLIC_PREFIXES.some((prefix) => key.startsWith(prefix)) ? 'PLAIN' : 'SECRET'

export const variableKind = oneOf(VARIABLE_KINDS, {
  description: `SECRET: struck from logs, and shown with \`view=FULL\` alone. PLAIN: neither. A variable that is given without a kind keeps the one it has; a new one is PLAIN if its name begins with ${PUBLIC_PREFIXES.map((prefix) => `\`${prefix}\``).join(', ')}, and SECRET otherwise.`,
})
