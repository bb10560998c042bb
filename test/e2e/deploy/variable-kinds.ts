/** Secret and plain variables: who sees their values, and which of them a log shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { databaseBytes } from '../../support/postgres/databases.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import { restart, service } from './service.ts'

const as = await service.login('developer')
const viewer = await service.login('viewer')

const SECRET = 'hunter2-of-the-cms'
const ENDPOINT = 'https://cms.example.com'

/** Prints its variables during the build and at each visit, after a mark of that visit. */
const talkative: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node say.js built', start: 'node server.js' } }),
  'say.js': `
    const names = ['API_KEY', 'NEXT_PUBLIC_CMS', 'NEXT_PUBLIC_COPY', 'CITY', 'ADDRESS']
    module.exports = (mark) => console.log(mark + ' ' + names.map((name) => name + '=' + process.env[name]).join(' '))
    if (require.main === module) module.exports(process.argv[2])`,
  'server.js': `
    const say = require('./say.js')
    const server = require('node:http').createServer((request, response) => {
      say(request.url)
      response.end('logged')
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))`,
}

const { name, url } = await createEnvironment(service, as, {
  body: {
    displayName: 'Test',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [
      { key: 'API_KEY', value: SECRET },
      { key: 'NEXT_PUBLIC_CMS', value: ENDPOINT },
      { key: 'NEXT_PUBLIC_COPY', value: SECRET },
      { key: 'CITY', kind: 'PLAIN', value: 'Reykjavik' },
      { key: 'ADDRESS', kind: 'PLAIN', value: `${ENDPOINT}/?key=${SECRET}&page=1` },
    ],
  },
})
const SHOWN = `API_KEY=[secret] NEXT_PUBLIC_CMS=${ENDPOINT} NEXT_PUBLIC_COPY=[secret] CITY=Reykjavik ADDRESS=${ENDPOINT}/?key=[secret]&page=1`

let visits = 0

/** The line about its variables that the app logs at a visit. */
async function loggedAtVisit(t: Parameters<typeof follow>[0]): Promise<string> {
  const mark = `/visit-${++visits}`
  const stream = await follow(t, service, { as: viewer }, `/v1/${name}/logs`)
  assert.equal((await siteAnswer(service, url, mark)).text, 'logged')
  const find = () => stream.events.find(({ data }) => data.includes(`${mark} `))
  await stream.until(() => find() !== undefined)
  stream.close()
  return find()?.data.split(`${mark} `)[1]?.replace(/"}$/, '') ?? ''
}

async function patch(shellVariables: unknown, { by = as } = {}) {
  const body = { shellVariables }
  const asked = await service.call(`/v1/${name}`, { method: 'PATCH', as: by, body })
  return { asked, done: asked.status === 200 ? await untilDone(service, as, asked.json.name) : undefined }
}

const read = async (query = '', by = as): Promise<resources.Environment> =>
  (await service.call(`/v1/${name}${query}`, { as: by })).json

const keep = (...changed: { key: string; kind?: string; value?: string }[]) =>
  ['API_KEY', 'NEXT_PUBLIC_CMS', 'NEXT_PUBLIC_COPY', 'CITY', 'ADDRESS'].map(
    (key) => changed.find((each) => each.key === key) ?? { key },
  )

test('logs of builds and apps show plain values, and mask secrets wherever they occur', async (t) => {
  const { metadata, error } = await deploy(service, as, name, talkative)
  assert.equal(error, undefined)
  const { text } = await service.call(`/v1/${metadata.build}/log`, { as: viewer })
  assert.ok(text.includes(`built ${SHOWN}`), text)
  assert.equal(await loggedAtVisit(t), SHOWN)
})

test('plain values are shown to all members of the account, those of secrets to developers on request', async () => {
  const basic = [
    { key: 'API_KEY', kind: 'SECRET' },
    { key: 'NEXT_PUBLIC_CMS', kind: 'PLAIN', value: ENDPOINT },
  ]
  for (const by of [as, viewer]) assert.deepEqual((await read('', by)).shellVariables.slice(0, 2), basic)
  const listed = await service.call(`/v1/${name.replace(/\/[^/]+$/, '')}`, { as: viewer })
  assert.deepEqual(listed.json.environments[0].shellVariables.slice(0, 2), basic)
  assert.deepEqual((await read('?view=FULL')).shellVariables[0], { key: 'API_KEY', kind: 'SECRET', value: SECRET })
  assert.equal((await service.call(`/v1/${name}?view=FULL`, { as: viewer })).reason, 'ROLE_TOO_WEAK')
})

test('neither operations nor the database contain values, plain ones included', async () => {
  const { text, json } = await service.call(`/v1/${name}/operations`, { as: viewer })
  assert.deepEqual(json.operations[0].response.shellVariables[3], { key: 'CITY', kind: 'PLAIN' })
  assert.ok(!text.includes('Reykjavik'))
  const bytes = await databaseBytes(service.dataDir)
  assert.ok(bytes.includes(name.slice(-36)))
  for (const value of ['Reykjavik', SECRET]) assert.ok(!bytes.includes(value), value)
})

test('a list that was read and sent back makes no deployment, and a kind alone makes one', async () => {
  const { deployment, shellVariables } = await read()
  assert.equal((await patch(shellVariables)).done?.error, undefined)
  assert.equal((await read()).deployment, deployment)
  await patch(keep({ key: 'CITY', kind: 'SECRET' }))
  assert.notEqual((await read()).deployment, deployment)
  assert.deepEqual((await read('?view=FULL')).shellVariables[3], { key: 'CITY', kind: 'SECRET', value: 'Reykjavik' })
})

test('a secret is not made plain without its value', async () => {
  const { asked } = await patch(keep({ key: 'API_KEY', kind: 'PLAIN' }))
  assert.equal(asked.status, 400)
  assert.deepEqual(asked.json.error.details[1].fieldViolations, [
    {
      field: 'shellVariables[0].value',
      description: 'is required: API_KEY is a secret, and becomes PLAIN only together with its value',
    },
  ])
  assert.deepEqual((await read()).shellVariables[0], { key: 'API_KEY', kind: 'SECRET' })
  const { asked: weak } = await patch(keep({ key: 'API_KEY', kind: 'PLAIN', value: 'guess' }), { by: viewer })
  assert.equal(weak.reason, 'ROLE_TOO_WEAK')
  for (const kind of ['plain', 'PUBLIC', '', null, true, ['PLAIN']]) {
    const { asked: odd } = await patch([{ key: 'CITY', kind, value: 'x' }])
    assert.equal(odd.status, 400, JSON.stringify(kind))
    assert.equal(odd.json.error.details[1].fieldViolations[0].field, 'shellVariables[0].kind')
    assert.match(odd.json.error.details[1].fieldViolations[0].description, /^must be one of: SECRET, PLAIN$/)
  }
})

test('a secret that is sent again as plain is shown to all members', async (t) => {
  await patch(keep({ key: 'API_KEY', kind: 'PLAIN', value: SECRET }, { key: 'CITY', kind: 'PLAIN', value: 'Oslo' }))
  assert.deepEqual((await read('', viewer)).shellVariables[0], { key: 'API_KEY', kind: 'PLAIN', value: SECRET })
  assert.match(await loggedAtVisit(t), new RegExp(`^API_KEY=${SECRET} .* CITY=Oslo `))
})

test('a value that became a secret is masked in the log of an older deployment that is live again, also after a restart', async (t) => {
  const struck = SHOWN.replace('Reykjavik', '[secret]')
  const { deployment } = await read()
  await patch(keep({ key: 'API_KEY', kind: 'SECRET' }, { key: 'CITY', kind: 'SECRET' }))
  assert.equal(await loggedAtVisit(t), struck)
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.equal((await read()).deployment, deployment)
  assert.equal(await loggedAtVisit(t), struck)
  await restart('kill')
  assert.equal(await loggedAtVisit(t), struck)
})
