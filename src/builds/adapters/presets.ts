/** Presets of Nitro, with which Nuxt and SolidStart are built, that leave something to be served here. */
import type { Plan } from '../plan/plan.ts'

/** Those that make a server for Node, as every host of such has them. */
export const SERVERS: readonly string[] = [
  'node-server',
  'node-cluster',
  'alwaysdata',
  'cleavr',
  'digital-ocean',
  'flight-control',
  'heroku',
  'koyeb',
  'platform-sh',
  'render-com',
  'zerops',
]

export const FILES: readonly string[] = ['static', 'github-pages', 'gitlab-pages']

export const presetName = (written: string): string => written.replaceAll('_', '-')

const FRAMEWORKS = ['nuxt', 'solid-start']
const VARIABLES = ['NITRO_PRESET', 'SERVER_PRESET']

/**
 * Variables come along when an app moves here from another host, and one that names a preset would build for that host
 * again. A preset that leaves what the plan expects is the tenant's choice.
 */
export function foreignPresets(plan: Plan, variables: Readonly<Record<string, string>>): string[] {
  const { framework, output } = plan
  // An app that starts a server of its own may be meant for any preset.
  if (!FRAMEWORKS.includes(framework) || output.folder === '.') return []
  const expected = output.kind === 'static' ? FILES : SERVERS
  return VARIABLES.filter((name) => {
    const preset = variables[name]?.trim() ?? ''
    return preset !== '' && !expected.includes(presetName(preset))
  })
}
