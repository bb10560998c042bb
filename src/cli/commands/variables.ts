/** Variables that an app gets when it is built and when it runs. */
import { optionText, type resources, UsageError, type VariableKind } from '../../contract/index.ts'
import { makeSureOfAccount } from '../accounts-used.ts'
import type { ClientCall } from '../command.ts'
import { changeOnTop } from '../on-top.ts'
import { finishInSight } from '../operation.ts'
import { api, resource } from '../path.ts'
import { printList, tell } from '../rows.ts'
import { type AtEnvironment, atEnvironment } from '../where.ts'
import { checkKey, readPairs, readPairsIn } from './variable-pairs.ts'

/** In place of a value that was not asked for. */
const HIDDEN = '(hidden)'

export async function listVariables(call: ClientCall): Promise<undefined> {
  const { service, path } = await atEnvironment(call)
  const query = call.options.show ? { view: 'FULL' } : {}
  const { shellVariables } = await service.call<resources.Environment>(path, { query })
  printList(call, shellVariables, {
    row: ({ key, kind, value }) => ({ variable: key, kind: kind ?? '', value: value ?? HIDDEN }),
    empty: "No variables yet. 'headland variables set KEY=VALUE' sets one.",
  })
}

export async function setVariables(call: ClientCall): Promise<undefined> {
  const file = optionText(call.options, 'file')
  const kind = kindIn(call.options)
  if (file === undefined && call.positionals.length === 0) throw new UsageError('give KEY=VALUE, KEY or --file FILE')
  const given = [
    ...(file === undefined ? [] : await readPairsIn(call.folder, file)),
    ...(await readPairs(call, call.positionals)),
  ].map((one) => ({ ...one, ...kind }))
  const at = await atEnvironment(call)
  await makeSureOfAccount(call, at)
  const keys = [...new Set(given.map(({ key }) => key))]
  await change(call, at, {
    words: `Set ${keys.join(', ')}.`,
    after: (before) => [...new Map([...before, ...given].map((one) => [one.key, one])).values()],
    clash: (first, now) => keys.filter((key) => !isSame(first, now, key)),
  })
}

export async function unsetVariables(call: ClientCall): Promise<undefined> {
  const gone = new Set(call.positionals.map(checkKey))
  const at = await atEnvironment(call)
  const before = at.environment.shellVariables.map(({ key }) => key)
  const unknown = [...gone].find((key) => !before.includes(key))
  if (unknown !== undefined)
    throw new UsageError(`there is no variable ${unknown}; there are: ${before.join(', ') || 'none'}`)
  await change(call, at, {
    words: `Unset ${[...gone].join(', ')}.`,
    after: (before) => before.filter(({ key }) => !gone.has(key)),
    // What somebody else has unset already is as it should be.
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

const isSame = (first: resources.Environment, now: resources.Environment, key: string): boolean =>
  first.shellVariableEtags[key] === now.shellVariableEtags[key]

type Change = {
  words: string
  after(before: resources.ChangedVariable[]): resources.ChangedVariable[]
  /** Those that are to be changed and were changed by others. */
  clash(first: resources.Environment, now: resources.Environment): string[]
}

async function change(call: ClientCall, at: AtEnvironment, { words, after, clash }: Change) {
  const { service, path, environment: first } = at
  const asked = await changeOnTop({
    first,
    read: () => service.call<resources.Environment>(path),
    clash,
    write({ shellVariables, etag }) {
      // A variable that is sent without a value keeps the one it has.
      const before = shellVariables.map(({ key }): resources.ChangedVariable => ({ key }))
      return service.call<resources.Operation>(path, {
        method: 'PATCH',
        body: { shellVariables: after(before), etag },
      })
    },
  })
  const environment = await finishInSight({ ...call, ...at }, asked)
  tell(call, environment.shellVariables, `${words} ${await effectOf(at, environment)}`)
}

/** When it is seen. What was written into pages while they were built is not changed by a restart. */
async function effectOf({ service }: AtEnvironment, { build }: resources.Environment): Promise<string> {
  if (!build) return 'The first build takes it up.'
  const { plan } = await service.call<resources.Build>(api`/v1/${resource(build)}`)
  const isStatic = (plan?.output as { kind?: unknown } | undefined)?.kind === 'static'
  if (isStatic) return "The site is files, so it changes with the next build: 'headland rebuild'."
  const compiledIn = 'What the framework wrote into pages while it built, such as NEXT_PUBLIC_…, needs'
  return `The app runs with it now. ${compiledIn} 'headland rebuild'.`
}
