/**
 * A build's plan as a list of facts. The contract does not fix the fields of a plan, and older builds keep older plans,
 * so every field is optional: a missing one is not shown.
 */

export type PlanFact = { name: string; text: string }

type Plan = Readonly<Record<string, unknown>>

export function factsOf(plan: Plan): PlanFact[] {
  const manager = objectIn(plan, 'packageManager')
  const output = objectIn(plan, 'output')
  const facts: [string, string][] = [
    ['Framework', [textIn(plan, 'framework'), textIn(plan, 'frameworkVersion')].filter(Boolean).join(' ')],
    ['Root directory', textIn(plan, 'rootDirectory')],
    ['Node', textIn(plan, 'node')],
    ['Package manager', [textIn(manager, 'name'), textIn(manager, 'version').replace(/^\*$/, '')].join(' ').trim()],
    ['Lockfile', textIn(manager, 'lockfile')],
    ['Install', commandIn(objectIn(plan, 'install'))],
    ['Adapter', adapterIn(objectIn(plan, 'adapter'))],
    ['Build', commandIn(objectIn(plan, 'build'))],
    ['Start', commandIn(objectIn(output, 'start'))],
    ['Output', outputOf(output)],
  ]
  return facts.filter(([, text]) => text !== '').map(([name, text]) => ({ name, text }))
}

/** The reasons for this plan, in sentences. */
export const reasonsOf = (plan: Plan): string[] =>
  Array.isArray(plan.detectedBy) ? plan.detectedBy.filter((each) => typeof each === 'string') : []

/** Whether the app has no process of its own; undefined if the plan does not say. */
export function isStatic(plan: Plan | undefined): boolean | undefined {
  const kind = plan && textIn(objectIn(plan, 'output'), 'kind')
  return kind ? kind === 'static' : undefined
}

function outputOf(output: Plan): string {
  const folder = textIn(output, 'folder')
  if (textIn(output, 'kind') === 'static') return `files in ${folder === '.' ? 'the root directory' : folder}`
  return textIn(output, 'kind') === 'server' ? `a server, from ${folder === '.' ? 'the root directory' : folder}` : ''
}

/** The adapter that replaced one for another host. */
function adapterIn(adapter: Plan): string {
  const [by, replaces] = [textIn(adapter, 'by'), textIn(adapter, 'replaces')]
  return by && replaces ? `${by}, in place of ${replaces}` : ''
}

function textIn(plan: Plan, key: string): string {
  const value = plan[key]
  return typeof value === 'string' ? value : ''
}

function objectIn(plan: Plan, key: string): Plan {
  const value = plan[key]
  return typeof value === 'object' && value !== null ? (value as Plan) : {}
}

const commandIn = ({ argv }: Plan): string => (Array.isArray(argv) ? argv.join(' ') : '')
