/**
 * Tutorials about a Headland of your own, each run from its own commands on a real service: ten clients of an agency, and a
 * machine with HTTPS and a backup. Settings and DNS are those of the page, too.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { variableName } from '../../../src/config.ts'
import { type Scope, temporaryFolder } from '../../support/folder.ts'
import { blocksOf, commandsOf, readPage, runBlocks, shellIn } from '../../support/guides.ts'
import { databaseSettings } from '../../support/postgres/databases.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'

/** A machine that cannot keep accounts apart, as without root, builds for several of them only if it is told to. */
const WEAK: Record<string, string> = process.getuid?.() === 0 ? {} : { HEADLAND_WEAK_ISOLATION: 'true' }

/** The settings that a page puts into headland.json. */
function settingsOf(page: string): Record<string, string> {
  const [block] = blocksOf(page).filter(({ language }) => language === 'json')
  const settings: Record<string, unknown> = JSON.parse(block?.text ?? assert.fail('the page has settings'))
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableName(key), String(value)]))
}

/** A folder and a home of a reader at the machine. */
async function readerOf(t: Scope, service: TestService, more: Record<string, string> = {}) {
  const place = await temporaryFolder(t)
  const folder = join(place, 'work')
  await mkdir(folder)
  const own = { HEADLAND_DATA_DIR: service.dataDir, ...(await databaseSettings(service.dataDir)) }
  return shellIn(folder, join(place, 'home'), { ...own, ...more })
}

describe('an agency with ten clients', () => {
  const PAGE = 'docs/tutorials/agency.md'
  const CLIENTS = 'acme bloom cedar delta ember fjord grove haven indigo juniper'.split(' ')
  const ends: (() => unknown)[] = []
  const file = { after: (end: () => unknown) => void ends.unshift(end) }
  let service: TestService
  let printed: string[]
  /** What the block with this command printed. */
  const of = (command: string): string => {
    const at = blocks.findIndex((block) => block.includes(command))
    return printed[at] ?? assert.fail(`no block has ${command}`)
  }
  let blocks: string[]

  before(async () => {
    const page = await readPage(PAGE)
    const settings = settingsOf(page)
    service = await startService(file, { settings: { ...settings, ...WEAK } })
    blocks = commandsOf(page).map((block) =>
      block.replaceAll('http://127.0.0.1:8080', service.api).replaceAll('http://127.0.0.1:8081', service.edge),
    )
    printed = await runBlocks(blocks, await readerOf(file, service, settings))
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('there are ten accounts beside that of the first start', () => {
    const names = of('accounts list')
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '')
    for (const client of [...CLIENTS, 'default']) assert.ok(names.includes(client), client)
  })

  test('ten sites are live, each under its own name', async () => {
    for (const client of CLIENTS) {
      const { status, text } = await siteAnswer(service, `http://www.${client}.example`)
      assert.deepEqual([status, /Welcome to (\w+)/.exec(text)?.[1]], [200, client])
    }
  })

  test('the third app of a client is refused, by the limit that the page sets', async () => {
    assert.match(of('apps create blog'), /refused, with exit code 1$/)
    const { ceilings } = JSON.parse(of('/usage'))
    const apps = ceilings.find(({ kind }: { kind: string }) => kind === 'APPS')
    assert.deepEqual([apps.used, apps.limit], [2, 2])
  })

  test('a client who asks for another one is told what is said of an account that does not exist', () => {
    const [first = '', ...rest] = of('headland apps --account acme').split('\n')
    assert.equal(first, 'refused, with exit code 1')
    const { error } = JSON.parse(rest.join('\n'))
    assert.equal(error.details[0].reason, 'ACCOUNT_NOT_FOUND')
  })

  test('a client sees the own app alone', () => {
    const lines = of('headland apps)').split('\n')
    assert.equal(lines.length, 2)
    assert.match(lines[1] ?? '', /^website /)
  })

  test('every token is readable by its owner alone', () => {
    const lines = of('ls -l tokens').split('\n').slice(1)
    assert.equal(lines.length, CLIENTS.length)
    for (const line of lines) assert.match(line, /^-rw------- /)
  })

  test('the morning round shows one environment of each client, and it is live', () => {
    const rounds = of('headland status').split(/^== /m).slice(1)
    assert.deepEqual(
      rounds.map((round) => round.split('\n')[0]),
      CLIENTS,
    )
    for (const round of rounds) assert.match(round, / live /)
  })
})
