/** Two people who change the same thing at the same moment, over HTTP and with the command line. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { after, test } from 'node:test'
import { parseArgs } from 'node:util'
import { CLIENT_COMMANDS, createTerminal } from '../../../src/cli/index.ts'
import { clientEnvironment } from '../../../src/config.ts'
import type { OptionValues } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import type { ApiResponse } from '../../support/service/service.ts'
import { service } from './service.ts'

const ETAG = /^W\/"[\w-]{22}"$/

const as = await service.login('developer')
const folder = await temporaryFolder({ after })

const get = async (name: string) => service.call(`/v1/${name}`, { as })
const read = async (name: string) => (await get(name)).json

const patch = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  service.call(`/v1/${name}`, { method: 'PATCH', as, body, headers })
const replace = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  service.call(`/v1/${name}/domains:replace`, { method: 'POST', as, body, headers })
const remove = (name: string, more: { body?: unknown; headers?: Record<string, string> } = {}) =>
  service.call(`/v1/${name}`, { method: 'DELETE', as, ...more })

/** Accepted changes wait for each other, so each is sent when the one before is done. */
async function taken(answer: ApiResponse) {
  assert.equal(answer.status, 200, answer.text)
  const { error } = await untilDone(service, as, answer.json.name)
  assert.equal(error, undefined)
}

function refused(answer: ApiResponse, what: RegExp) {
  assert.deepEqual([answer.status, answer.json.error.status, answer.reason], [409, 'ABORTED', 'ETAG_MISMATCH'])
  assert.match(answer.json.error.message, what)
  assert.match(answer.json.error.message, /Read it again, make your change to what is there now, and send it with/)
}

test('apps, environments and lists of domains have an etag, in the reply and in its headers', async () => {
  const app = await createApp(service, as)
  const { name } = await createEnvironment(service, as, { app })
  for (const one of [`accounts/default/apps/${app}`, name, `${name}/domains`]) {
    const { json, headers } = await get(one)
    assert.match(json.etag, ETAG)
    assert.equal(headers.get('etag'), json.etag)
  }
  const list = await get(`accounts/default/apps/${app}/environments`)
  assert.equal(list.json.environments[0].etag, (await read(name)).etag)
  assert.equal(list.headers.get('etag'), null, 'a page is no version of anything')
})

test('a change with an outdated etag is refused, in the body and as If-Match', async () => {
  const { name, etag } = await createEnvironment(service, as)
  await taken(await patch(name, { displayName: 'First', etag }))
  refused(await patch(name, { displayName: 'Second', etag }), /^The environment was changed after it was read/)
  refused(await patch(name, { displayName: 'Second' }, { 'if-match': etag }), /^The environment was changed/)
  const { displayName, etag: now } = await read(name)
  assert.equal(displayName, 'First')
  refused(await patch(name, { displayName: 'Second', etag: now }, { 'if-match': etag }), /environment/)
  refused(await patch(`${name}?updateMask=displayName`, { displayName: 'Second', etag }), /environment/)
  await taken(await patch(name, { displayName: 'Second', etag: now }, { 'if-match': `"x", ${now}` }))
  await taken(await patch(name, { displayName: 'Third' }, { 'if-match': '*' }))
  await taken(await patch(name, { displayName: 'Fourth' }))
})

test('proxies that make a weak etag a strong one, or the other way, do no harm', async () => {
  const { name, etag } = await createEnvironment(service, as)
  await taken(await patch(name, { displayName: 'x' }, { 'if-match': etag.replace('W/', '') }))
  refused(await patch(name, { displayName: 'y' }, { 'if-match': etag.replace('W/', '') }), /environment/)
})

test('an etag that is not written as one is 400 and says how it is written', async () => {
  const { name } = await createEnvironment(service, as)
  for (const etag of ['', 'abc', '"abc', 'W/abc', '*', '"a", "b"', 'x'.repeat(201), 7, null]) {
    const answer = await patch(name, { displayName: 'x', etag })
    assert.deepEqual([answer.status, answer.reason], [400, 'FIELD_INVALID'], String(etag))
    assert.match(answer.json.error.message, /^etag/)
  }
  for (const ifMatch of ['', 'abc', '"abc', '"a" "b"', '*, "a"', ',']) {
    const answer = await patch(name, { displayName: 'x' }, { 'if-match': ifMatch })
    assert.deepEqual([answer.status, answer.reason], [400, 'FIELD_INVALID'], ifMatch)
    assert.match(answer.json.error.message, /^If-Match: must be etags that were read, with their quotes, as W\/"/)
  }
  const long = await patch(name, { displayName: 'x' }, { 'if-match': '"a",'.repeat(3000) })
  refused(long, /environment/)
  assert.equal((await read(name)).displayName, 'Test')
})

test('an etag alone is no change, and is not among the fields of a mask', async () => {
  const { name, etag } = await createEnvironment(service, as)
  assert.match((await patch(name, { etag })).json.error.message, /updateMask: names no field/)
  const masked = await patch(`${name}?updateMask=etag`, { displayName: 'x', etag })
  assert.match(masked.json.error.message, /updateMask: may only name displayName/)
})

test('where etags are not supported, If-Match is refused and not ignored', async () => {
  const { name } = await createEnvironment(service, as)
  const answer = await service.call(`/v1/${name}:clearCache`, {
    method: 'POST',
    as,
    body: {},
    headers: { 'if-match': '"a"' },
  })
  assert.deepEqual([answer.status, answer.reason], [400, 'FIELD_INVALID'])
  assert.match(answer.json.error.message, /^If-Match: is not taken here.*Leave the header out/)
  const looked = await service.call(`/v1/${name}`, { as, headers: { 'if-match': '"a"' } })
  assert.equal(looked.status, 200)
})

test('a build that goes live, and other domains, leave the etag of an environment as it is', async () => {
  const { name, etag } = await createEnvironment(service, as)
  const { error } = await deploy(service, as, name, page('one'))
  assert.equal(error, undefined)
  assert.equal((await replace(name, { domains: ['etag.example'] })).status, 200)
  const now = await read(name)
  assert.deepEqual([now.state, now.etag], ['LIVE', etag])
  await taken(await patch(name, { shellVariables: [{ key: 'A', value: '1' }], etag }))
})

test('the etag of a variable shows whether it was changed, without its value', async () => {
  const { name } = await createEnvironment(service, as)
  const keys = ['A', 'B', '__proto__', 'constructor']
  await taken(await patch(name, { shellVariables: keys.map((key) => ({ key, value: 'same' })) }))
  const before = await read(name)
  assert.deepEqual(Object.keys(before.shellVariableEtags), keys)
  const etags = Object.entries(before.shellVariableEtags).map(([, etag]) => etag)
  for (const etag of etags) assert.match(String(etag), ETAG)
  assert.equal(new Set(etags).size, keys.length, 'the same value is not the same etag')
  await taken(await patch(name, { shellVariables: [{ key: 'A' }, { key: 'B', value: 'other' }] }))
  const now = await read(name)
  assert.equal(now.shellVariableEtags.A, before.shellVariableEtags.A)
  assert.notEqual(now.shellVariableEtags.B, before.shellVariableEtags.B)
  assert.deepEqual(now.shellVariables[0], before.shellVariables[0])
})

test('a list of domains is replaced only if it is the one that was read', async () => {
  const { name } = await createEnvironment(service, as)
  const { etag } = await read(`${name}/domains`)
  const first = await replace(name, { domains: ['one.etag.example'], etag })
  assert.equal(first.status, 200, first.text)
  refused(await replace(name, { domains: [], etag }), /^The list of domains was changed after it was read/)
  refused(await replace(name, { domains: [] }, { 'if-match': etag }), /list of domains/)
  assert.equal(first.json.etag, (await read(`${name}/domains`)).etag)
  const second = await replace(name, { domains: [], etag: first.json.etag })
  assert.deepEqual(second.json, { domains: [], redirects: [], nextPageToken: '', etag })
})

test('a deletion takes an etag in its body or as If-Match, and needs none', async () => {
  const app = await createApp(service, as)
  const [one, two, three] = [
    await createEnvironment(service, as, { app }),
    await createEnvironment(service, as, { app }),
    await createEnvironment(service, as, { app }),
  ]
  refused(await remove(one.name, { body: { etag: two.etag } }), /^The environment was changed/)
  refused(await remove(one.name, { headers: { 'if-match': two.etag } }), /^The environment was changed/)
  const wrong = await remove(one.name, { body: { force: true } })
  assert.deepEqual([wrong.status, wrong.reason], [400, 'FIELD_INVALID'])
  await taken(await remove(one.name, { body: { etag: one.etag } }))
  await taken(await remove(two.name, { headers: { 'if-match': two.etag } }))
  await taken(await remove(three.name))
  const name = `accounts/default/apps/${app}`
  const { etag } = await read(name)
  refused(await remove(name, { headers: { 'if-match': one.etag } }), /^The app was changed/)
  assert.equal((await remove(name, { headers: { 'if-match': etag } })).status, 200)
})

test('of concurrent changes with the same etag, exactly one is accepted', async () => {
  const { name, etag } = await createEnvironment(service, as)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => patch(name, { shellVariables: [{ key: `K${index}`, value: '' }], etag })),
  )
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 11 }, () => 409)])
  const winner = answers.findIndex(({ status }) => status === 200)
  assert.deepEqual(Object.keys((await read(name)).shellVariableEtags), [`K${winner}`])
})

/**
 * As the command line runs it, but in this process: such commands collide more often than processes do, and cost less.
 */
async function run(line: string, ...at: string[]): Promise<number> {
  const args = line.split(' ')
  const command = CLIENT_COMMANDS.find(({ name }) => name === args.slice(0, 2).join(' '))
  assert.ok(command, `there is no command ${line}`)
  const { values, positionals } = parseArgs({
    args: [...args.slice(2), ...at],
    allowPositionals: true,
    options: command.options,
  })
  const [output, words] = [new PassThrough().resume(), new PassThrough().resume()]
  const streams = { input: new PassThrough(), output, words } as unknown as Parameters<typeof createTerminal>[0]
  const terminal = createTerminal(streams, { isPlain: false })
  const environment = clientEnvironment({
    XDG_CONFIG_HOME: folder,
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  })
  return (await command.run({ positionals, options: values as OptionValues, folder, environment, terminal })) ?? 0
}

test('concurrent commands lose none of their changes', async () => {
  const app = await createApp(service, as)
  const { name } = await createEnvironment(service, as, { app })
  await taken(await patch(name, { shellVariables: [{ key: 'OLD', value: '1' }] }))
  await replace(name, { domains: ['old.commands.example'] })
  const at = ['--account', 'default', '--app', app]
  const ran = await Promise.all([
    run('variables set ONE=1', ...at),
    run('variables set TWO=2 THREE=3', ...at),
    run('variables unset OLD', ...at),
    run('envs change --name Renamed', ...at),
    run('envs change --root web', ...at),
    run('domains add one.commands.example', ...at),
    run('domains add two.commands.example', ...at),
    run('domains remove old.commands.example', ...at),
  ])
  assert.deepEqual(new Set(ran), new Set([0]))
  const after = await read(name)
  assert.deepEqual(Object.keys(after.shellVariableEtags).sort(), ['ONE', 'THREE', 'TWO'])
  assert.deepEqual([after.displayName, after.rootDirectory], ['Renamed', 'web'])
  assert.deepEqual(after.domains, ['one.commands.example', 'two.commands.example'])
})

test('of concurrent commands that set the same variable, those that were too late say so', async () => {
  const app = await createApp(service, as)
  const { name } = await createEnvironment(service, as, { app })
  const at = ['--account', 'default', '--app', app]
  const values = Array.from({ length: 4 }, (_, index) => String(index))
  const ran = await Promise.allSettled(values.map((value) => run(`variables set SAME=${value}`, ...at)))
  const [{ value }] = (await read(`${name}?view=FULL`)).shellVariables
  const late = ran.flatMap((each) => (each.status === 'rejected' ? each.reason : []))
  assert.ok(ran.some(({ status }, index) => status === 'fulfilled' && values[index] === value))
  for (const error of late) {
    assert.equal(error.reason, 'ETAG_MISMATCH')
    assert.equal(error.message, 'Another request changed SAME at the same moment. Nothing of yours was changed.')
  }
})
