/** Previews of an app: environments of a branch. `headland deploy --preview` and pushes make them. */
import { APP, type App, type ChangedPreviewSettings, ENVIRONMENT, type Environment } from '../../../client/index.ts'
import { LIMITS, optionText, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { changeWithEtag } from '../../etag-change.ts'
import { finishInSight } from '../../operation.ts'
import { makeSure, numberIn } from '../../options.ts'
import { idFor } from '../../output/people.ts'
import { factsOf, oneLine, printList, printResult, when } from '../../output/rows.ts'
import { environmentIn } from '../../project/resource-names.ts'
import { type AtApp, atApp, called, lastPart } from '../../project/where.ts'

export async function listPreviews(call: ClientCall): Promise<undefined> {
  const found = (await environmentsOf(await atApp(call))).filter(isPreview)
  printList(call, found, {
    row: (one) => ({
      preview: one.displayName,
      id: idFor(call.terminal, one.name),
      state: one.state,
      'latest build': one.latestBuild?.state ?? '',
      url: one.url,
      expires: when(call.terminal, one.preview?.expireTime),
      changed: when(call.terminal, one.updateTime),
    }),
    empty: "No previews. 'headland deploy --preview' makes one of the current branch.",
    narrow: { shortened: ['preview'], leftOut: ['changed', 'latest build', 'id'] },
  })
}

export async function deletePreview(call: ClientCall): Promise<undefined> {
  const at = await atApp(call)
  const found = oneOf((await environmentsOf(at)).filter(isPreview), call.positionals[0] ?? '', 'preview')
  await makeSure(call, `This deletes the preview ${oneLine(found.displayName)}, with its address.`, 'delete')
  const { terminal } = call
  const asked = await at.service.client.call(`DELETE ${ENVIRONMENT}`, { path: environmentIn(found.name) })
  await finishInSight({ ...at, terminal }, asked)
  printResult(call, {}, `Deleted the preview ${oneLine(found.displayName)}.`)
}

export async function previewSettings(call: ClientCall): Promise<undefined> {
  const at = await atApp(call)
  const { client } = at.service
  const path = { account: at.account, app: at.app }
  const given = await settingsIn(call, at)
  const app = await client.call(`GET ${APP}`, { path })
  if (Object.keys(given).length === 0) return show(call, at, app)
  const fields = Object.keys(given) as (keyof typeof given)[]
  const changed = await changeWithEtag({
    first: app,
    read: () => client.call(`GET ${APP}`, { path }),
    write: ({ etag }) => client.call(`PATCH ${APP}`, { path, body: { previews: given, etag } }),
    clash: (first, now) => fields.filter((field) => now.previews[field] !== first.previews[field]),
  })
  await show(call, at, changed)
}

async function settingsIn({ options }: ClientCall, at: AtApp): Promise<ChangedPreviewSettings> {
  if (options.enable && options.disable) throw new UsageError('--enable or --disable, not both')
  const [from, secrets] = [optionText(options, 'from'), optionText(options, 'secrets')]
  const [maxCount, idleDays] = [optionText(options, 'max-count'), optionText(options, 'idle-days')]
  return {
    ...(options.enable || options.disable ? { enabled: options.enable === true } : {}),
    ...(from === undefined ? {} : { environment: from === 'default' ? '' : (await named(at, from)).name }),
    ...(secrets === undefined ? {} : { secrets: secrets === 'yes' }),
    ...(maxCount === undefined ? {} : { maxCount: numberIn(maxCount, '--max-count', 1) }),
    ...(idleDays === undefined ? {} : { idleDays: numberIn(idleDays, '--idle-days', 1) }),
  }
}

async function show(call: ClientCall, at: AtApp, { previews }: App): Promise<undefined> {
  if (call.options.json) return void call.terminal.print(JSON.stringify(previews))
  const { enabled, environment, secrets, maxCount, idleDays } = previews
  const chosen = (await environmentsOf(at)).find(({ name }) => name === environment)
  call.terminal.print(
    factsOf({
      previews: enabled ? 'on' : 'off',
      'variables from': oneLine(chosen?.displayName ?? 'the environment that search engines list, else the oldest'),
      secrets: secrets ? 'included' : 'left out',
      'at most': String(maxCount),
      'deleted after': `${idleDays} days without a deployment and a visit`,
    }),
  )
}

export const environmentsOf = ({ service, account, app }: AtApp): Promise<Environment[]> =>
  Array.fromAsync(
    service.client.list(`GET ${APP}/environments`, { path: { account, app }, query: { pageSize: LIMITS.maxPageSize } }),
  )

const isPreview = ({ preview }: Environment): boolean => Boolean(preview)

export const named = async (at: AtApp, name: string): Promise<Environment> =>
  oneOf(await environmentsOf(at), name, 'environment')

/** By its name, its branch, or the end of its id. */
export function oneOf(all: readonly Environment[], name: string, what: 'preview' | 'environment'): Environment {
  const fitting = called(all, name.slice(name.startsWith('accounts/') ? name.lastIndexOf('/') + 1 : 0))
  const found = fitting.length > 0 ? fitting : all.filter(({ preview }) => preview?.branch === name)
  if (found.length === 1 && found[0]) return found[0]
  const known = (found.length > 1 ? found : all).map((one) => `${one.displayName} (${lastPart(one)})`)
  const which = found.length > 1 ? `which ${what} '${name}'?` : `there is no ${what} '${name}'.`
  throw new UsageError(`${which} There are: ${oneLine(known.join(', ') || 'none')}`)
}
