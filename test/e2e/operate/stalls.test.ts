/**
 * Hostile inputs against the running service, which measures itself whether one of its event loops was blocked. Each
 * input is a line of `INPUTS`.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { LIMITS, type resources } from '../../../src/contract/index.ts'
import { appOf, buildOf } from '../../support/machine/hostile.ts'
import { readStalls, withoutStall } from '../../support/machine/stalls.ts'
import { deploy, type Files, page, reasonOf } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const ends: (() => unknown)[] = []
const service = await startService({ after: (end: () => unknown) => void ends.unshift(end) })
after(async () => {
  for (const end of ends) await end()
})
const as = await service.login()

const MEBIBYTE = 1024 ** 2

const INPUTS: Record<string, () => Promise<unknown>> = {
  'variables with a hundred thousand lines': () => attack(buildOf(say('hello', 500)), { variables: manyLines() }),
  'a build that floods its log': () => attack(buildOf(say('x'.repeat(100), 60_000)), { lastLine: 'the end' }),
  'a build that writes escapes which nothing ends': () => attack(buildOf(say(`\x1b]a;`.repeat(18_000), 20))),
  'a build that writes carriage returns': () => attack(buildOf(say(`${'\r'.repeat(30_000)}x`, 20))),
  'a lockfile of millions of empty lists': () => attack(lockfileOf(12 * MEBIBYTE), { fails: /^[A-Z_]+(?<!INTERNAL)$/ }),
  'a lockfile that is larger than one may be': () =>
    attack(lockfileOf(100 * MEBIBYTE), { fails: /^LOCKFILE_MISMATCH$/ }),
  'a visitor who asks for a part by very many blanks': () =>
    attack(page('a page'), { visit: '/', headers: { range: `bytes=${' '.repeat(30_000)}x` } }),
  'a purge of hundreds of paths of very many slashes': purgeSlashes,
  'a reader of the documentation who asks for very many slashes': async () =>
    assert.equal((await service.call(`/docs/${'/'.repeat(15_000)}x`)).status, 404),
  'an app that floods its log': () => attack(appOf(floodFor(4)), { visit: '/flood' }),
}

for (const [name, run] of Object.entries(INPUTS)) {
  test(`the event loops of the service are not blocked: ${name}`, async (t) => {
    await withoutStall(service, run)
    const { control, edge } = await readStalls(service)
    t.diagnostic(`longest so far: control ${control.longestMs} ms, edge ${edge.longestMs} ms`)
  })
}

type Attack = {
  variables?: { key: string; value: string }[]
  /** A path that is requested once the site is live. */
  visit?: string
  headers?: Record<string, string>
  /** The reason for which it does not become live. */
  fails?: RegExp
  /** Text that the log of the build must contain. */
  lastLine?: string
}

async function attack(
  files: Files,
  { variables = [], visit, headers, lastLine, fails }: Attack = {},
): Promise<resources.Environment> {
  const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', shellVariables: variables }
  const environment = await createEnvironment(service, as, { body })
  const operation = await deploy(service, as, environment.name, files)
  if (fails) assert.match(String(reasonOf(operation)), fails)
  else assert.equal(operation.error, undefined, operation.error?.message)
  if (visit) assert.equal((await siteAnswer(service, environment.url, visit, headers)).status, 200)
  if (lastLine) {
    const { json } = await service.call(`/v1/${environment.name}/builds`, { as })
    const log = await service.call(`/v1/${json.builds[0].name}/log`, { as })
    assert.ok(log.text.includes(lastLine), `…${log.text.slice(-1000)}`)
  }
  return environment
}

async function purgeSlashes() {
  const { name } = await createEnvironment(service, as)
  const path = `${'/'.repeat(LIMITS.purgeEntryLength - 1)}x`
  const paths = Array.from({ length: 400 }, () => path)
  const { status, text } = await service.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: { paths } })
  assert.equal(status, 200, text)
}

/** A few hundred kilobytes as they are sent. */
const lockfileOf = (bytes: number): Files => ({
  'package.json': JSON.stringify({ dependencies: { local: '1.0.0' }, scripts: { build: 'true' } }),
  'package-lock.json': `[${'[],'.repeat(bytes / 3)}[]]`,
})

/** A script that prints so many lines, one by one, and a last one. */
const say = (line: string, times: number): string =>
  `for (let at = 0; at < ${times}; at++) fs.writeSync(1, ${JSON.stringify(`${line}\n`)})
   fs.writeSync(1, 'the end\\n')`

/** A handler that prints lines as fast as possible, for so many seconds. */
const floodFor = (seconds: number): string =>
  `if (path === '/flood') {
     const lines = ('x'.repeat(60) + '\\n').repeat(1000)
     const end = Date.now() + ${seconds * 1000}
     while (Date.now() < end) fs.writeSync(1, lines)
   }`

/** As many lines as variables can have, each long enough to be masked in logs. */
function manyLines(): { key: string; value: string }[] {
  const values = LIMITS.variableTotalBytes / LIMITS.variableValueBytes
  const lines = Math.floor((LIMITS.variableValueBytes - 100) / 5)
  return Array.from({ length: values }, (_, value) => ({
    key: `MANY_${value}`,
    value: Array.from({ length: lines }, (_, line) => (value * lines + line).toString(36).padStart(4, '0')).join('\n'),
  }))
}
