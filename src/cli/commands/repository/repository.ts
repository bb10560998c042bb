/** The repository elsewhere that an environment follows. */
import { ENVIRONMENT, type NewRepository, type Repository } from '../../../client/index.ts'
import { names, optionText, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { makeSure, numberIn } from '../../options.ts'
import { factsOf, oneLine, printResult, when } from '../../output/rows.ts'
import { atEnvironment } from '../../project/where.ts'
import { secretFromStdin } from '../variables/variable-pairs.ts'
import { PROVIDERS } from './providers.ts'

export async function showRepository(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  const found = await service.client.call(`GET ${ENVIRONMENT}/repository`, { path })
  printResult(call, found, factsOf(facts(call, found)))
}

export async function connectRepository(call: ClientCall): Promise<undefined> {
  const [url = ''] = call.positionals
  const given = givenIn(call)
  const { service, names: path } = await atEnvironment(call)
  const body = { url, ...given, ...(await tokenIn(call)) }
  const made = await service.client.call(`POST ${ENVIRONMENT}/repository`, { path, body })
  const { publicKey, hookUrl, hookSecret } = made
  const lines = [
    `The branch ${oneLine(textOf(made.branch))} is followed.`,
    ...(publicKey ? [`Add this key to the repository, as a deploy key that reads: ${oneLine(textOf(publicKey))}`] : []),
    `For deploys after each push, add a webhook there: ${oneLine(textOf(hookUrl))}`,
    `Its secret, which is not shown again: ${oneLine(textOf(hookSecret))}`,
  ]
  printResult(call, made, lines.join('\n'))
}

export async function changeRepository(call: ClientCall): Promise<undefined> {
  const given = givenIn(call)
  if (Object.keys(given).length === 0 && !call.options.token)
    throw new UsageError('nothing is changed: give --branch, --provider, --token or --poll')
  const { service, names: path } = await atEnvironment(call)
  const body = { ...given, ...(given.pollMinutes === 0 ? { pollMinutes: null } : {}), ...(await tokenIn(call)) }
  const after = await service.client.call(`PATCH ${ENVIRONMENT}/repository`, { path, body })
  printResult(call, after, factsOf(facts(call, after)))
}

export async function regenerateSecret(call: ClientCall): Promise<undefined> {
  const { service, names: path, environment } = await atEnvironment(call)
  const warning = 'Calls with the secret that is in use are refused at once: give the new one to the provider.'
  await makeSure(call, warning, environment.displayName)
  const made = await service.client.call(`POST ${ENVIRONMENT}/repository:regenerate`, { path })
  const { hookUrl, hookSecret } = made
  printResult(call, made, `The secret for ${line(hookUrl)}, which is not shown again: ${line(hookSecret)}`)
}

export async function fetchRepository(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  const after = await service.client.call(`POST ${ENVIRONMENT}/repository:fetch`, { path })
  printResult(
    call,
    after,
    `The branch ${oneLine(textOf(after.branch))} is being fetched. 'headland repository' shows how it went.`,
  )
}

export async function disconnectRepository(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  const found = await service.client.call(`GET ${ENVIRONMENT}/repository`, { path })
  await makeSure(call, `This disconnects ${oneLine(textOf(found.url))}. What is live stays.`, 'disconnect')
  await service.client.call(`DELETE ${ENVIRONMENT}/repository`, { path })
  printResult(call, {}, `${oneLine(textOf(found.url))} is not followed any more.`)
}

function facts({ terminal }: ClientCall, found: Repository): Record<string, string | undefined> {
  const { problem, statusProblem } = found
  const poll = found.pollMinutes
  return {
    repository: line(found.url),
    branch: line(found.branch),
    provider: line(found.provider ?? 'another one'),
    commit: names.shortSha(line(found.lastCommit)) || 'none yet',
    fetched: found.lastFetchTime ? when(terminal, found.lastFetchTime) : 'not yet',
    polling: poll === null ? 'off' : `every ${line(poll)} minutes`,
    token: found.hasToken ? 'stored' : 'none',
    'deploy key': line(found.publicKey) || undefined,
    hook: line(found.hookUrl),
    problem: problem ? `${line(problem.reason)}: ${line(problem.message)}` : undefined,
    statuses: statusProblem ? line(statusProblem.message) : undefined,
  }
}

/** What the options say, but for the token. */
function givenIn({ options }: ClientCall): Pick<NewRepository, 'branch' | 'provider' | 'pollMinutes'> {
  const provider = optionText(options, 'provider') as keyof typeof PROVIDERS | undefined
  const [branch, poll] = [optionText(options, 'branch'), optionText(options, 'poll')]
  return {
    ...(branch === undefined ? {} : { branch }),
    ...(provider === undefined ? {} : { provider: PROVIDERS[provider] }),
    ...(poll === undefined ? {} : { pollMinutes: numberIn(poll, '--poll', 0) }),
  }
}

const tokenIn = async (call: ClientCall): Promise<{ token?: string }> =>
  call.options.token ? { token: await readToken(call) } : {}

/** It must not be seen in the list of processes or in the history of a shell. */
async function readToken({ terminal }: ClientCall): Promise<string> {
  const token = terminal.isInteractive ? await terminal.ask('Token: ', { isHidden: true }) : await secretFromStdin()
  if (!token) throw new UsageError('no token was given: send it at stdin, or run this at a terminal')
  return token
}

/** Texts of a service may be missing, or something else. */
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
const line = (value: unknown): string => oneLine(textOf(value))
