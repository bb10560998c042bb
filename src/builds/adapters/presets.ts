/** The presets of Nitro (used by Nuxt and SolidStart) whose output can be served here. */
import type { Plan } from '../plan/plan.ts'

/** Presets that make a plain server for Node. */
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
 * The variables that name a preset for another host. Tenants copy variables when an app moves here from another host, and
 * such a variable would build for that host again. A preset with the output that the plan expects is kept.
 */
export function foreignPresets(plan: Plan, variables: Readonly<Record<string, string>>): string[] {
  const { framework, output } = plan
  // An app that starts its own server may be made for any preset.
  if (!FRAMEWORKS.includes(framework) || output.folder === '.') return []
  const expected = output.kind === 'static' ? FILES : SERVERS
  return VARIABLES.filter((name) => {
    const preset = variables[name]?.trim() ?? ''
    return preset !== '' && !expected.includes(presetName(preset))
  })
}
