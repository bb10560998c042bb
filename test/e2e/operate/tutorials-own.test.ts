/**
 * Tutorials about a Headland of your own, each run from its own commands on a real service: ten clients of an agency, and a
 * machine with HTTPS and a backup. Settings and DNS are those of the page, too.
 */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { variableName } from '../../../src/config.ts'
import { frontDoor, untilSecure } from '../../support/certificates/front-door.ts'
import { NEEDS_PEBBLE } from '../../support/certificates/pebble.ts'
import { type Scope, temporaryFolder } from '../../support/folder.ts'
import { blocksOf, commandsOf, readPage, runBlocks, shellIn, typeBlocks } from '../../support/guides.ts'
import { startForwardProxy } from '../../support/machine/forward-proxy.ts'
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

/** What the records of a page lead to, which is this machine here. */
const namesIn = (page: string): string[] =>
  blocksOf(page)
    .filter(({ language }) => language === 'dns')
    .flatMap(({ text }) => [...text.matchAll(/^(\S+)\.\s+A\s/gm)].map(([, name = '']) => name))

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

describe('a machine of your own', NEEDS_PEBBLE, () => {
  const PAGE = 'docs/tutorials/own-machine.md'
  const [PORTAL, SITE] = ['headland.example.com', 'www.example.com']
  const ends: (() => unknown)[] = []
  const file = { after: (end: () => unknown) => void ends.unshift(end) }
  let tlsPort: number
  let printed: string

  before(async () => {
    const page = await readPage(PAGE)
    const door = await frontDoor(file, settingsOf(page))
    tlsPort = door.tlsPort
    for (const name of namesIn(page)) door.dns.zone.set(name, ['127.0.0.1'])
    const service = await door.start()
    const shell = await readerOf(file, service, {
      ...door.settings,
      ...(await waysTo(file, door)),
    })
    const config = join(shell.environment.HOME ?? '', 'headland.json')
    await writeFile(config, blocksOf(page).find(({ language }) => language === 'json')?.text ?? '')
    const blocks = commandsOf(page).map((block) =>
      block.replaceAll('/etc/headland/headland.json', config).replaceAll('/var/lib/headland', service.dataDir),
    )
    const { email, password } = service.owner()
    printed = await typeBlocks(blocks, shell, [
      [/E-mail address[^\n]*: $/, email],
      [/Password: $/, password],
      [/(?:\]: |\[Y\/n\] )$/, ''],
    ])
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('the portal and the site have certificates of the CA', async (t) => {
    for (const name of [PORTAL, SITE]) {
      const socket = await untilSecure(t, tlsPort, name)
      assert.match(String(socket.getPeerCertificate().issuer.CN), /Pebble/)
    }
  })

  test('the commands show both certificates', () => {
    assert.match(printed, new RegExp(`${PORTAL} .*ISSUED`))
    assert.match(printed, new RegExp(`${SITE} +valid`))
  })

  test('the site is served under its own name over HTTPS, and plain HTTP leads there', () => {
    assert.match(printed, /<h1>On my own machine/)
    assert.match(printed, /^HTTP\/1\.1 308 .*\s+location:.*https:\/\/www\.example\.com:/m)
  })

  test('the backup is whole, and was restored with its database', () => {
    assert.match(printed, /is whole, in /)
    assert.match(printed, /is restored to /)
    assert.match(printed, /^blobs .*headland\.db/m)
  })
})

/**
 * The reader's curl and command line reach the ports of this machine, which are not 80 and 443 here, and trust the CA of
 * the test.
 */
async function waysTo(t: Scope, { httpPort, tlsPort, pebble }: Awaited<ReturnType<typeof frontDoor>>) {
  const root = join(await temporaryFolder(t), 'root.pem')
  await writeFile(root, await pebble.root())
  const [plain, secure] = [httpPort, tlsPort].map((port) => startForwardProxy(t, { to: `127.0.0.1:${port}` }))
  return {
    http_proxy: `http://${(await plain)?.host}`,
    HTTPS_PROXY: `http://${(await secure)?.host}`,
    NODE_EXTRA_CA_CERTS: root,
    CURL_CA_BUNDLE: root,
  }
}
