/** Who may see an environment, in words. */
import type { Environment } from '../../client/index.ts'
import { oneLine } from './rows.ts'

type Visible = Pick<Environment, 'production' | 'protection'>

export function visibilityInWords({ production, protection }: Visible): string {
  const { hasPassword, addresses } = protection
  const needs = [
    ...(hasPassword ? ['with the password'] : []),
    ...(addresses.length > 0 ? [`from ${addresses.map(oneLine).join(', ')}`] : []),
  ]
  const who = needs.length === 0 ? 'everyone' : `only ${needs.join(' and ')}`
  return production ? who : `${who}; search engines are told not to list it`
}

/** Undefined where there is nothing to say. A service of an earlier version has no such setting. */
export function hiddenHint(environment: Environment, domains: readonly string[]): string | undefined {
  if (domains.length === 0 || (environment as Partial<Environment>).production !== false) return undefined
  const todo = "If the public should find it: 'headland envs change --production yes'."
  return `Search engines are told not to list ${oneLine(environment.displayName)}, which is not marked as production. ${todo}`
}
