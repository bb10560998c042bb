/** Apps: a name and a region, and the environments in it. */
import { ACCOUNT, APP, type Environment } from '../../client/index.ts'
import { LIMITS, names, requiredOption, UsageError } from '../../contract/index.ts'
import { allEnvironments, appOf } from '../all-environments.ts'
import type { ClientCall } from '../command.ts'
import { ifMatch, makeSure } from '../options.ts'
import { printList, printResult, when } from '../output/rows.ts'
import { regionNamed } from '../project/resource-names.ts'
import { atAccount, lastPart } from '../project/where.ts'
import { withSuggestions } from '../suggestions.ts'

const LARGE_PAGES = { pageSize: LIMITS.maxPageSize }

export async function listApps(call: ClientCall): Promise<undefined> {
  const { service, account } = await atAccount(call)
  const list = service.client.list(`GET ${ACCOUNT}/apps`, { path: { account }, query: LARGE_PAGES })
  const apps = await Array.fromAsync(list)
  const all = call.options.json || apps.length === 0 ? [] : await allEnvironments(service, account)
  const byApp = Map.groupBy(all, appOf)
  printList(call, apps, {
    row: (app) => ({
      app: lastPart(app),
      region: lastPart({ name: app.region }),
      ...counts(byApp.get(lastPart(app)) ?? []),
      created: when(call.terminal, app.createTime),
    }),
    empty: "No apps yet. 'headland apps create NAME --region REGION' makes one, and 'headland deploy' does too.",
  })
}

const counts = (environments: readonly Environment[]) => ({
  environments: String(environments.length),
  live: String(environments.filter(({ state }) => state === 'LIVE').length),
})

export async function createApp(call: ClientCall): Promise<undefined> {
  const app = appIn(call)
  const region = requiredOption(call.options, 'region')
  const { service, account } = await atAccount(call)
  const { client } = service
  const body = { region: regionNamed(region), uploadable: {} }
  await client.call(`POST ${ACCOUNT}/apps`, { path: { account }, query: { appId: app }, body })
  // The response to that is empty.
  const made = await client.call(`GET ${APP}`, { path: { account, app } })
  printResult(
    call,
    made,
    `Made the app ${app}. 'headland envs create NAME --app ${app} --cms INSTALL' gives it an address.`,
  )
}

export async function deleteApp(call: ClientCall): Promise<undefined> {
  const app = appIn(call)
  const at = await atAccount(call)
  const { account } = at
  const { client } = withSuggestions(at.service, { account, app })
  const path = { account, app }
  const found = await client.call(`GET ${APP}`, { path })
  const list = client.list(`GET ${APP}/environments`, { path })
  const environments = await Array.fromAsync(list)
  const withThem = environments.length > 0 ? ` and its ${environments.length} environment(s), with their sites` : ''
  if (call.options.force || withThem === '')
    await makeSure(call, `This deletes the app ${app}${withThem}, for good.`, app)
  const query = { force: call.options.force === true ? true : undefined }
  const headers = ifMatch(call, found)
  await client.call(`DELETE ${APP}`, { path, query, headers })
  printResult(call, {}, `Deleted the app ${app}${withThem}.`)
}

const NAME = new RegExp(String(names.appName.pattern))

function appIn({ positionals: [app = ''] }: ClientCall): string {
  if (!NAME.test(app)) throw new UsageError(`'${app}' is not a name for an app: ${names.appName.description}`)
  return app
}
