/**
 * Tools that make apps and environments. They change nothing that visitors see, so they need no consent. Variables are not taken:
 * their values would stand in the conversation.
 */
import { ACCOUNT, APP } from '../../../client/index.ts'
import { names, schema, UsageError } from '../../../contract/index.ts'
import { finish } from '../../operation.ts'
import { oneLine } from '../../output/rows.ts'
import { regionNamed } from '../../project/resource-names.ts'
import { type AtAccount, type AtApp, atAccount, atApp, lastPart, wellFormed } from '../../project/where.ts'
import type { ToolResult } from '../protocol/tool-calls.ts'
import { facts } from '../results.ts'
import { AT_ACCOUNT, AT_APP, type Context, callWith, type Given, option, type Tool } from '../tool.ts'
import { shown } from './reading.ts'

const text = (description: string, maxLength = 200) => schema.string({ description, minLength: 1, maxLength })

export const CREATING_TOOLS: readonly Tool[] = [
  {
    name: 'create_app',
    title: 'Create an app',
    description: 'Makes an app: a name, and the region of its environments. create_environment gives it an address.',
    kind: 'creates',
    input: schema.object({
      name: text(String(names.appName.description)),
      region: text(`One of ${Object.keys(names.REGIONS).join(', ')}. It cannot be changed.`),
      ...AT_ACCOUNT,
    }),
    run: createApp,
  },
  {
    name: 'create_environment',
    title: 'Create an environment',
    description: 'Makes an environment of an app, with an address of its own; deploy makes something live there.',
    kind: 'creates',
    input: schema.object({
      name: text('What people call it, as `Staging`. None of the app may have it.'),
      cmsEnvironment: text('The install of the CMS that it shows.'),
      rootDirectory: option.text('Folder of what is sent that holds the app; the top unless given.', 1000),
      ...AT_APP,
    }),
    run: createEnvironment,
  },
]

async function createApp({ call, signal }: Context, given: Given): Promise<ToolResult> {
  const app = wellFormed(given.name, names.appName.pattern, 'app')
  return closing(await atAccount(callWith(call, given)), async ({ service: { client }, account }) => {
    const body = { region: regionNamed(lastPart({ name: given.region })), uploadable: {} }
    await client.call(`POST ${ACCOUNT}/apps`, { path: { account }, query: { appId: app }, body, signal })
    const made = await client.call(`GET ${APP}`, { path: { account, app }, signal })
    return facts({ account, app: lastPart(made), region: lastPart({ name: made.region }) })
  })
}

async function createEnvironment({ call, signal, progress }: Context, given: Given): Promise<ToolResult> {
  return closing(await atApp(callWith(call, given)), async ({ service, account, app }: AtApp) => {
    const { client } = service
    const path = { account, app }
    const there = await Array.fromAsync(client.list(`GET ${APP}/environments`, { path, signal }))
    const twin = there.find(({ displayName }) => displayName === given.name)
    // A call that is repeated, since its answer was lost, must not make a second one.
    if (twin) throw new UsageError(`${app} has an environment '${oneLine(given.name)}' already: ${lastPart(twin)}`)
    const { name: displayName, cmsEnvironment, rootDirectory = '' } = given
    const body = { displayName, cmsEnvironment, branch: names.UPLOADABLE, rootDirectory }
    const asked = await client.call(`POST ${APP}/environments`, { path, body, signal })
    const { response } = await finish(service, asked, ({ metadata }) => progress(metadata.phase), signal)
    return facts(shown(response as Parameters<typeof shown>[0]))
  })
}

/** Closes the connections to the service after the work. */
async function closing<At extends AtAccount>(at: At, work: (at: At) => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work(at)
  } finally {
    at.service.connection.agent.destroy()
  }
}
