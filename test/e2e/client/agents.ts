/** `headland mcp` with the official client of the protocol, over real pipes, by the revision of 2025 and by that of 2026. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ENVIRONMENT } from '../../../src/client/index.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'
import { environmentOf, home, program } from './program.ts'
import { as, clientAs, environment, path, service } from './service.ts'

const NAME = 'default/shop/Production'

type Opening = { mode?: 'legacy' | 'auto'; args?: string[]; env?: Record<string, string>; says?: boolean }

/** Connected to a server of its own. `says`: what the user answers to every question; without it the client cannot ask. */
async function connected({ mode = 'legacy', args = [], env = environmentOf(), says }: Opening = {}) {
  const capabilities = says === undefined ? {} : { elicitation: {} }
  const client = new Client({ name: 'tests', version: '1' }, { capabilities, versionNegotiation: { mode } })
  const asked: string[] = []
  if (says !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message)
      return says ? { action: 'accept', content: { go: true } } : { action: 'decline' }
    })
  }
  await client.connect(new StdioClientTransport({ ...program, args: [...program.args, ...args], env }))
  after(() => client.close())
  const call = async (name: string, given: Record<string, unknown> = {}, options = {}) => {
    const result = await client.callTool({ name, arguments: given }, { timeout: TIMEOUT_MS, ...options })
    const [content] = result.content as { text: string }[]
    // biome-ignore lint/suspicious/noExplicitAny: tests read it freely
    return { isError: result.isError === true, text: content?.text ?? '', data: result.structuredContent as any }
  }
  return { client, call, asked }
}

const live = async () => (await clientAs(as).call(`GET ${ENVIRONMENT}`, { path })).deployment
const idOf = (name: string) => name.slice(name.lastIndexOf('/') + 1)

const usual = await connected()

test('a client of either age gets the same tools, and which of them only read', async () => {
  const modern = await connected({ mode: 'auto' })
  assert.equal(modern.client.getNegotiatedProtocolVersion(), '2026-07-28')
  const [old, recent] = [await usual.client.listTools(), await modern.client.listTools()]
  assert.deepEqual(recent.tools, old.tools)
  const changing = old.tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)
  assert.deepEqual(
    changing.map(({ name, annotations }) => [name, annotations?.destructiveHint]),
    [
      ['create_app', false],
      ['create_environment', false],
      ['deploy', true],
      ['rebuild', true],
      ['purge', true],
      ['activate_deployment', true],
    ],
  )
  assert.deepEqual((await modern.call('list_environments')).data.environments[0].environment, 'Production')
})

test('apps and environments are listed, with what is live', async () => {
  const { data, text } = await usual.call('list_environments')
  assert.deepEqual(data.apps, [{ app: 'shop', region: 'UK' }])
  assert.equal(data.environments[0].live, idOf(await live()))
  assert.deepEqual(JSON.parse(text), data, 'the same for clients that show only texts')
})

test('of variables there are names, and no value anywhere', async () => {
  const { data, text } = await usual.call('list_variables')
  assert.deepEqual(
    data.variables.map(({ key }: { key: string }) => key),
    ['API_KEY'],
  )
  const shown = await usual.call('show_environment')
  assert.doesNotMatch(text + shown.text, /k3y-of-the-shop/)
})

test('a deploy needs the name of what it changes, and does nothing without it', async () => {
  const before = await live()
  for (const confirm of [undefined, 'Production', 'yes']) {
    const { isError, data, text } = await usual.call('deploy', confirm === undefined ? {} : { confirm })
    assert.deepEqual([isError, data.error.reason], [true, 'CONFIRMATION_MISSING'])
    assert.match(text, /default\/shop\/Production/)
  }
  assert.equal(await live(), before)
})

test('a folder is deployed, with progress, and its site answers; the log of its build can be read', async () => {
  const messages: string[] = []
  const onprogress = ({ message }: { message?: string | undefined }) => messages.push(message ?? '')
  const { isError, data, text } = await usual.call(
    'deploy',
    { confirm: NAME, message: 'by an agent', waitSeconds: 600 },
    { onprogress },
  )
  assert.equal(isError, false, text)
  assert.deepEqual([data.done, data.live], [true, idOf(await live())])
  assert.ok(messages.length > 0)
  assert.equal((await siteAnswer(service, environment.url)).text, 'Hello from Node\n')
  const log = await usual.call('read_build_log', { lines: 3 })
  assert.equal(log.data.lines.length, 3)
  assert.equal(log.data.build, data.build)
  const shown = await usual.call('show_build', { build: data.build })
  assert.deepEqual([shown.data.state, shown.data.message], ['SUCCEEDED', 'by an agent'])
})

test('a folder that the user did not name is not deployed, nor one behind a link', async () => {
  for (const folder of ['..', join(home, 'secret'), 'link', '/etc']) {
    const { isError, text } = await usual.call('deploy', { folder, confirm: NAME })
    assert.ok(isError)
    assert.match(text, /not in a folder that may be deployed/)
  }
})

test('a rollback is refused without its confirmation, and made with it', async () => {
  const before = await live()
  const refused = await usual.call('activate_deployment', { deployment: 'previous' })
  assert.equal(refused.data.error.reason, 'CONFIRMATION_MISSING')
  assert.equal(await live(), before)
  const { isError, text } = await usual.call('activate_deployment', {
    deployment: 'previous',
    confirm: NAME,
    waitSeconds: 600,
  })
  assert.equal(isError, false, text)
  assert.notEqual(await live(), before)
})

for (const mode of ['legacy', 'auto'] as const) {
  test(`a user who is asked and says no is obeyed, and yes lets it happen (${mode})`, async () => {
    const given = { paths: ['/'], confirm: NAME }
    const no = await connected({ mode, says: false })
    assert.equal((await no.call('purge', given)).data.error.reason, 'DECLINED')
    assert.match(no.asked[0] ?? '', /Purges \/ of default\/shop\/Production/)
    const yes = await connected({ mode, says: true })
    const { isError, data, text } = await yes.call('purge', given)
    assert.equal(isError, false, text)
    assert.equal(data.purged, '/')
    assert.equal(yes.asked.length, 1)
  })
}

test('a page is traced, and requests are listed', async () => {
  await siteAnswer(service, environment.url, '/some-page')
  const { data } = await usual.call('trace_page', { url: '/some-page' })
  assert.equal(typeof data.verdict, 'string')
  // Edges tell of their requests after they have answered them.
  const requests = await until(async () => {
    const { data } = await usual.call('list_requests', { path: '/some-page', limit: 1 })
    return data.requests.length > 0 && data.requests
  })
  assert.equal(requests[0].path, '/some-page')
})

test('what the app wrote is read, without what a terminal would obey or an eye would miss', async () => {
  const { data, text } = await usual.call('read_logs', { lines: 1000 })
  assert.match(text, /They are data/)
  assert.ok(
    data.lines.some((line: string) => / red\S*thgir$/.test(line)),
    text,
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  assert.doesNotMatch(text + data.lines.join('\n'), /[\x00-\x09\x0b-\x1f\u202e]/)
})

test('following a log ends when the client cancels it, and the server goes on', async () => {
  const stop = new AbortController()
  const onprogress = () => stop.abort()
  const given = { after: 0, lines: 1000, followSeconds: 300 }
  await assert.rejects(usual.call('read_logs', given, { signal: stop.signal, onprogress }))
  assert.equal((await usual.call('list_variables')).isError, false)
})

test('an app and an environment are made without a question, and an environment of that name once', async () => {
  const asked = await connected({ says: false })
  const app = await asked.call('create_app', { name: 'docs', region: 'UK' })
  assert.deepEqual([app.isError, app.data], [false, { account: 'default', app: 'docs', region: 'UK' }])
  const given = { app: 'docs', name: 'Staging', cmsEnvironment: 'cms' }
  const made = await asked.call('create_environment', given)
  assert.equal(made.isError, false, made.text)
  assert.deepEqual([made.data.app, made.data.environment, made.data.state], ['docs', 'Staging', 'EMPTY'])
  const again = await asked.call('create_environment', given)
  assert.ok(again.isError)
  assert.match(again.text, new RegExp(`already: ${made.data.id}`))
  const { data } = await asked.call('list_environments', { app: 'docs' })
  assert.deepEqual(
    data.environments.map(({ url }: { url: string }) => url),
    [made.data.url],
  )
  assert.deepEqual(asked.asked, [])
})

test('an app that cannot be made is refused with what is wrong', async () => {
  for (const wrong of [{ name: '../shop' }, { name: 'shop' }, { name: 'other', region: 'MOON' }]) {
    const { isError, text } = await usual.call('create_app', { region: 'UK', ...wrong })
    assert.ok(isError, text)
  }
})

test('a viewer reads, and cannot deploy or create', async () => {
  const viewer = await connected({ env: environmentOf(await service.login('viewer')) })
  assert.equal((await viewer.call('list_builds')).isError, false)
  const { isError, data, text } = await viewer.call('deploy', { confirm: NAME })
  assert.ok(isError)
  assert.equal(data.error.reason, 'ROLE_TOO_WEAK')
  assert.match(text, /What to do: /)
  const made = await viewer.call('create_app', { name: 'theirs', region: 'UK' })
  assert.equal(made.data.error.reason, 'ROLE_TOO_WEAK')
})

test('with --read-only there are no tools that change something, and they cannot be called by name', async () => {
  const { client, call } = await connected({ args: ['--read-only'] })
  const { tools } = await client.listTools()
  assert.ok(tools.length > 5 && tools.every(({ annotations }) => annotations?.readOnlyHint))
  await assert.rejects(call('purge', { confirm: NAME }), /Unknown tool/)
  await assert.rejects(call('create_app', { name: 'x', region: 'UK' }), /Unknown tool/)
})
