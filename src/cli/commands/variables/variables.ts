/** Variables that an app gets when it is built and when it runs. */
import { didYouMean } from '../../../base/index.ts'
import { ENVIRONMENT, type Environment } from '../../../client/index.ts'
import { optionText, UsageError, type VariableKind } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { finishInSight } from '../../operation.ts'
import { printList, printResult } from '../../output/rows.ts'
import { makeSureOfAccount } from '../../project/accounts-used.ts'
import { buildIn } from '../../project/resource-names.ts'
import { type AtEnvironment, atEnvironment } from '../../project/where.ts'
import { changeVariables, isSame, setting, type VariableChange } from '../../variable-change.ts'
import { checkKey, checkVariables, readPairs, readPairsIn } from './variable-pairs.ts'

/** Shown in place of a value that is not shown without --show. */
const HIDDEN = '(hidden)'

export async function listVariables(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  const query = call.options.show ? ({ view: 'FULL' } as const) : {}
  const { shellVariables } = await service.client.call(`GET ${ENVIRONMENT}`, { path, query })
  printList(call, shellVariables, {
    row: ({ key, kind, value }) => ({ variable: key, kind: kind ?? '', value: value ?? HIDDEN }),
    empty: "No variables yet. 'headland variables set KEY=VALUE' sets one.",
  })
}

export async function setVariables(call: ClientCall): Promise<undefined> {
  const file = optionText(call.options, 'file')
  const kind = kindIn(call.options)
  if (file === undefined && call.positionals.length === 0) throw new UsageError('give KEY=VALUE, KEY or --file FILE')
  const given = checkVariables([
    ...(file === undefined ? [] : await readPairsIn(call.folder, file)),
    ...(await readPairs(call, call.positionals)),
  ]).map((one) => ({ ...one, ...kind }))
  const at = await atEnvironment(call)
  await makeSureOfAccount(call, at)
  await change(call, at, { words: `Set ${given.map(({ key }) => key).join(', ')}.`, ...setting(given) })
}

export async function unsetVariables(call: ClientCall): Promise<undefined> {
  const gone = new Set(call.positionals.map(checkKey))
  const at = await atEnvironment(call)
  const before = at.environment.shellVariables.map(({ key }) => key)
  const unknown = [...gone].find((key) => !before.includes(key))
  if (unknown !== undefined)
    throw new UsageError(
      `there is no variable ${unknown}.${didYouMean(unknown, before)} There are: ${before.join(', ') || 'none'}`,
    )
  await change(call, at, {
    words: `Unset ${[...gone].join(', ')}.`,
    after: (before) => before.filter(({ key }) => !gone.has(key)),
    // A variable that another request has unset already is no clash.
    clash: (first, now) =>
      [...gone].filter((key) => Object.hasOwn(now.shellVariableEtags, key) && !isSame(first, now, key)),
  })
}

/** Without either, a variable keeps the kind it has, and the name of a new one decides. */
function kindIn({ secret, plain }: ClientCall['options']): { kind?: VariableKind } {
  if (secret && plain)
    throw new UsageError('a variable is --secret or --plain, not both: set the others with a second command')
  if (secret) return { kind: 'SECRET' }
  return plain ? { kind: 'PLAIN' } : {}
}

async function change(call: ClientCall, at: AtEnvironment, { words, ...change }: VariableChange & { words: string }) {
  const environment = await finishInSight({ ...call, ...at }, await changeVariables(at, change))
  printResult(call, environment.shellVariables, `${words} ${await effectOf(at, environment)}`)
}

/** When the change takes effect. A restart does not change what was written into pages while they were built. */
async function effectOf({ service }: AtEnvironment, { build }: Environment): Promise<string> {
  if (!build) return 'The first build takes it up.'
  const { plan } = await service.client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path: buildIn(build) })
  const isStatic = (plan?.output as { kind?: unknown } | undefined)?.kind === 'static'
  if (isStatic) return "The site is files, so it changes with the next build: 'headland rebuild'."
  const compiledIn = 'What the framework wrote into pages while it built, such as NEXT_PUBLIC_…, needs'
  return `The app runs with it now. ${compiledIn} 'headland rebuild'.`
}
