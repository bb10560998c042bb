/**
 * Shell variables have a kind, in environments and in the deployments that were made with them. It follows from the names that
 * frameworks publish. The lists are JSON as `JSON.stringify` writes it. Keys are letters, digits and underscores, and sealed values are
 * base64url, so `{"key":"` is nowhere but at the beginning of a variable.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

const PUBLIC_PREFIXES = [
  'NEXT_PUBLIC_',
  'NUXT_PUBLIC_',
  'PUBLIC_',
  'VITE_',
  'REACT_APP_',
  'GATSBY_',
  'EXPO_PUBLIC_',
] as const

const withKind = (kind: string, prefix: string) => [`{"key":"${prefix}`, `{"kind":"${kind}","key":"${prefix}`] as const

/** The public ones first; all others are secrets. */
const steps = [...PUBLIC_PREFIXES.map((prefix) => withKind('PLAIN', prefix)), withKind('SECRET', '')]

const withKinds = steps.reduce(
  (text, [before, after]) => sql`REPLACE(${text}, ${before}, ${after})`,
  sql`shell_variables`,
)

export const variableKinds: Migration = {
  id: 15,
  name: 'variable-kinds',
  statements: [
    sql`UPDATE environments SET shell_variables = ${withKinds} WHERE shell_variables <> '[]'`,
    sql`UPDATE deployments SET shell_variables = ${withKinds} WHERE shell_variables <> '[]'`,
  ],
}
