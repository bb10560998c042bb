/** Webhooks: three URLs that a CMS calls when something was published. They hold tokens, and are shown once. */
import { ENVIRONMENT, type IssuedWebhookSet, type WebhookSet } from '../../client/index.ts'
import { type OptionValues, optionText, type resources } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { makeSure, numberIn } from '../options.ts'
import { factsOf, oneLine, printResult, when } from '../output/rows.ts'
import { type AtEnvironment, atEnvironment } from '../project/where.ts'
import { triggersInRows } from './triggers.ts'

const TRIGGERS_SHOWN = 10

const MEANINGS: Record<resources.WebhookAction, string> = {
  rebuild: 'builds the newest upload again, or what a rollback pinned, with the content of now',
  cleanRebuild: 'the same, without anything that earlier builds left',
  purgeCache: 'purges what the edge has stored; nothing is built',
}

export async function showWebhooks(call: ClientCall): Promise<undefined> {
  const { terminal } = call
  const { service, names: path } = await atEnvironment(call)
  const set = await service.client.call(`GET ${ENVIRONMENT}/webhooks`, { path })
  const { items } = await service.client.first(`GET ${ENVIRONMENT}/triggers`, { path, limit: TRIGGERS_SHOWN })
  if (call.options.json) return void terminal.print(JSON.stringify({ ...set, triggers: items }))
  const uses = set.webhooks.map(({ action, lastUseTime }): [string, string] => [
    action,
    lastUseTime ? `last called ${when(terminal, lastUseTime)}` : 'not called yet',
  ])
  terminal.print(
    factsOf({
      ...Object.fromEntries(uses),
      quiet: settlingOf(set),
      'urls made': when(terminal, set.regenerateTime),
    }),
  )
  if (items.length > 0) terminal.print(`\n${triggersInRows(call, items)}`)
}

export async function createWebhooks(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await atEnvironment(call)
  issued(call, await service.client.call(`POST ${ENVIRONMENT}/webhooks`, { path }))
}

export async function regenerateWebhooks(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  await makeSureOf(call, at, 'The URLs that are in use stop at once: give the new ones to every caller.')
  issued(call, await at.service.client.call(`POST ${ENVIRONMENT}/webhooks:regenerate`, { path: at.names }))
}

export async function deleteWebhooks(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  await makeSureOf(call, at, 'The URLs stop at once, and cannot be had back.')
  await at.service.client.call(`DELETE ${ENVIRONMENT}/webhooks`, { path: at.names })
  printResult(call, {}, `Deleted the webhooks of ${oneLine(at.environment.displayName)}.`)
}

/** How long builds let a burst of calls settle. */
export async function quietWebhooks(call: ClientCall): Promise<undefined> {
  const quietSeconds = numberIn(call.positionals[0] ?? '', 'SECONDS', 0)
  const max = secondsIn(call.options, 'max') ?? secondsIn(call.options, 'most')
  const { service, names: path } = await atEnvironment(call)
  const body = { quietSeconds, ...(max === undefined ? {} : { maxQuietSeconds: max }) }
  const set = await service.client.call(`PATCH ${ENVIRONMENT}/webhooks`, { path, body })
  printResult(call, set, `From now on, builds begin ${settlingOf(set)}.`)
}

function secondsIn(options: OptionValues, name: string): number | undefined {
  const text = optionText(options, name)
  return text === undefined ? undefined : numberIn(text, `--${name}`, 0)
}

function issued({ terminal, options }: ClientCall, set: IssuedWebhookSet) {
  if (options.json) return terminal.print(JSON.stringify(set))
  terminal.say('These URLs hold tokens and are shown this once. To be called by POST:')
  terminal.print(
    set.webhooks
      .map(({ action, url }) => `\n${oneLine(action)}: ${MEANINGS[action]}\n${oneLine(url)}`)
      .join('\n')
      .trimStart(),
  )
}

const makeSureOf = (call: ClientCall, { environment }: AtEnvironment, warning: string) =>
  makeSure(call, warning, environment.displayName)

const settlingOf = ({ quietSeconds, maxQuietSeconds }: WebhookSet): string =>
  quietSeconds === 0
    ? 'at once, when a call comes'
    : `when no call came for ${quietSeconds} s, at the latest ${maxQuietSeconds} s after the first`
