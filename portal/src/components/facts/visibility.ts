/** Who may see an environment, in a few words. */
import type { Environment } from '../../api/types.ts'

export function visibilityWords({ production, protection }: Pick<Environment, 'production' | 'protection'>): string {
  const { hasPassword, addresses } = protection
  const needs = [
    ...(hasPassword ? ['with the password'] : []),
    ...(addresses.length > 0 ? ['from listed addresses'] : []),
  ]
  const who = needs.length === 0 ? 'Public' : `Only ${needs.join(' and ')}`
  return production ? who : `${who}, not listed by search engines`
}
