/**
 * Kinds of variables, and the default kind of a new variable by its name. A copy, as no code of the service is built
 * into the portal; a test compares it with the contract.
 */
import type { VariableKind } from '../../api/types.ts'

export const PUBLIC_PREFIXES: readonly string[] = [
  'NEXT_PUBLIC_',
  'NUXT_PUBLIC_',
  'PUBLIC_',
  'VITE_',
  'REACT_APP_',
  'GATSBY_',
  'EXPO_PUBLIC_',
]

export const kindByName = (key: string): VariableKind =>
  PUBLIC_PREFIXES.some((prefix) => key.startsWith(prefix)) ? 'PLAIN' : 'SECRET'

export const KIND_WORDS: Record<VariableKind, string> = { SECRET: 'Secret', PLAIN: 'Plain' }
