/** Debian's `pebble`, a real CA for tests (RFC 8555), on the loopback. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { makeCertificate } from '../edge/tls.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'

export const HAS_PEBBLE = (() => {
  try {
    execFileSync('pebble', ['-version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
})()

/** The option of a test that needs it. */
export const NEEDS_PEBBLE = { skip: HAS_PEBBLE ? false : 'needs Debian\'s package "pebble": apt-get install pebble' }

export type Pebble = {
  /** The address of the directory. */
  directory: string
  /** PEM that its own server is checked against. */
  ca: string
  /** PEM of the root of what it issues, if it was told to show it. */
  root(): Promise<string>
  /** What it wrote. */
  log(): string
  pid: number
  stop(): Promise<void>
}

type Options = {
  /** Where it connects to check HTTP-01 and TLS-ALPN-01. */
  httpPort?: number
  tlsPort?: number
  dns: string
  /** Its switches, such as PEBBLE_WFE_NONCEREJECT. */
  switches?: Record<string, string>
  /** HMAC keys by id: accounts must be bound to one of them. */
  external?: Record<string, string>
  port?: number
  /** Where its root is shown. */
  rootPort?: number
}

export async function startPebble(t: Scope, options: Options): Promise<Pebble> {
  const { httpPort = 1, tlsPort = 1, dns, switches = {}, external } = options
  const folder = await temporaryFolder(t)
  const own = await makeCertificate(t, { names: ['localhost'] })
  const file = (name: string) => join(folder, name)
  await writeFile(file('cert.pem'), own.cert)
  await writeFile(file('key.pem'), own.key)
  const port = options.port ?? (await freePort())
  await writeFile(
    file('config.json'),
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: options.rootPort ? `127.0.0.1:${options.rootPort}` : '',
        certificate: file('cert.pem'),
        privateKey: file('key.pem'),
        httpPort,
        tlsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: external !== undefined,
        externalAccountMACKeys: external ?? {},
      },
    }),
  )
  const child = spawn('pebble', ['-strict', '-config', file('config.json'), '-dnsserver', dns], {
    env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20', ...switches },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log += text
    })
  }
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  t.after(stop)
  const directory = `https://localhost:${port}/dir`
  await until(() => {
    assert.equal(child.exitCode, null, log)
    return answers(directory, own.cert)
  }, 'pebble answers')
  const root = () => read(`https://localhost:${options.rootPort}/roots/0`, own.cert)
  return { directory, ca: own.cert, root, log: () => log, pid: child.pid ?? 0, stop }
}

const answers = (url: string, ca: string): Promise<boolean> =>
  new Promise((resolve) => {
    get(url, { ca, agent: false }, (response) => resolve(response.resume().statusCode === 200)).on('error', () =>
      resolve(false),
    )
  })

async function read(url: string, ca: string): Promise<string> {
  const [response] = await once(get(url, { ca, agent: false }), 'response')
  return readText(response)
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
