/**
 * The real service in a process of its own, as `npm start` runs it, on free ports and a temporary data folder. Every
 * JSON reply is checked against the OpenAPI document that the service itself serves.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createAccounts, createCredentials } from '../../../src/accounts/index.ts'
import { createIds, parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import type { resources } from '../../../src/contract/index.ts'
import type { Sql } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { databaseUrlOf, usesPostgres } from '../postgres/databases.ts'
import { TIMEOUT_MS } from '../until.ts'
import { type Owner, putPreparedDatabase } from './prepared.ts'
import { processesOf, type Role } from './processes.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))
/** With the flags of the service: `headland serve` would start Node a second time to set them. */
const AS_NPM_START = ['--max-semi-space-size=2', '--', `${HEADLAND}.js`, 'serve']

export type Login = { userId: string; password: string }

export type CallOptions = {
  method?: string
  as?: Login
  body?: unknown
  headers?: Record<string, string>
}

export type ApiResponse = {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the reply was checked against its schema; tests read it freely
  json: any
  reason: string | undefined
}

export type TestService = {
  api: string
  edge: string
  dataDir: string
  /** Of the process that supervises the others. */
  pid: number
  edgePid(): number
  controlPid(): number
  /** What the service wrote to stderr so far. */
  log(): string
  call(path: string, options?: CallOptions): Promise<ApiResponse>
  /** Runs an operator's command on the data folder. */
  operator(...args: string[]): Promise<string>
  login(role?: resources.Role, account?: string): Promise<Login>
  /** Who owns the account of the first start. */
  owner(): Owner
  /** Opens its database, in this process. */
  openSql(): Promise<Sql>
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL, as the kernel or an operator might. */
  kill(): Promise<void>
}

/** What calls of the API need. */
export type Api = Pick<TestService, 'call'>

type Start = {
  /** Without one, the service gets a new folder, with the database of a first start. In an empty folder it makes its first start. */
  dataDir?: string
  settings?: Record<string, string>
  /** The command, if it is not that of this checkout on the Node of this test. */
  command?: readonly [file: string, ...args: string[]]
}

export async function startService(t: Scope, given: Start = {}): Promise<TestService> {
  // With SQLite a service ends when its folder is deleted. With PostgreSQL it has to end before.
  const folderEnds: (() => unknown)[] = []
  const folderScope = usesPostgres ? { after: (end: () => unknown) => void folderEnds.push(end) } : t
  const dataDir = given.dataDir ?? (await temporaryFolder(folderScope))
  const chosenUrl = await databaseUrlOf(dataDir)
  const chosen = chosenUrl === undefined ? {} : { HEADLAND_DATABASE_URL: chosenUrl }
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HEADLAND_DATA_DIR: dataDir,
    // Where the machine has a browser, it would take a picture after every deploy.
    HEADLAND_SCREENSHOT_BROWSER: 'off',
    ...chosen,
    ...given.settings,
  }
  const prepared = await preparedOwner(dataDir, { given, databaseUrl: env.HEADLAND_DATABASE_URL })
  const [file, ...first] = given.command ?? [process.execPath, HEADLAND]
  const serve = given.command ? [...first, 'serve'] : AS_NPM_START
  const child = spawn(file, serve, {
    env: { HEADLAND_LISTEN: '127.0.0.1:0', HEADLAND_EDGE_LISTEN: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  t.after(async () => {
    await end(child, 'SIGKILL')
    for (const one of folderEnds) await one()
  })
  const { api, edge } = await ready(child, () => log)

  const call = callAt(api, [file, ...first].join(' '))

  function pidOf(role: Role): number {
    const found = processesOf(child.pid as number)[role]
    assert.ok(found, `there is a process of ${role}`)
    return found
  }

  async function operator(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(file, [...first, ...args], { env })
    return stdout.trim()
  }

  return {
    api,
    edge,
    dataDir,
    pid: child.pid as number,
    edgePid: () => pidOf('edge'),
    controlPid: () => pidOf('control'),
    log: () => log,
    call,
    operator,
    async login(role = 'owner', account = 'default') {
      if (!given.command) return issueLogin(dataDir, env.HEADLAND_DATABASE_URL, { role, account })
      return JSON.parse(await operator('credentials', 'create', '--account', account, '--role', role, '--json'))
    },
    owner: () => prepared ?? shownOwner(log),
    openSql: () => openSql(dataDir, env.HEADLAND_DATABASE_URL),
    stop: () => end(child, 'SIGTERM'),
    async kill() {
      await end(child, 'SIGKILL')
    },
  }
}

async function preparedOwner(
  dataDir: string,
  { given, databaseUrl }: { given: Start; databaseUrl: string | undefined },
): Promise<Owner | undefined> {
  const makesOwn = given.dataDir !== undefined || given.command !== undefined || databaseUrl
  // A machine without a control process has no database.
  if (makesOwn || given.settings?.HEADLAND_ROLES !== undefined) return undefined
  return putPreparedDatabase(dataDir)
}

/** The first start prints the owner and the password. */
function shownOwner(log: string): Owner {
  const [, email = ''] = /User +(\S+)/.exec(log) ?? []
  const [, password = ''] = /Password +(\S+)/.exec(log) ?? []
  assert.ok(email && password, 'the first start prints the owner and the password')
  return { email, password }
}

/** Calls the API there. `command` says which program serves it. */
export function callAt(api: string, command: string): TestService['call'] {
  return async (path, { method = 'GET', as, body, headers = {} } = {}) => {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData
    const response = await fetch(`${api}${path}`, {
      method,
      headers: {
        ...(as ? { authorization: `Basic ${btoa(`${as.userId}:${as.password}`)}` } : {}),
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as string }),
      redirect: 'manual',
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const json = isJson ? JSON.parse(text) : undefined
    if (isJson && path !== '/openapi.json') {
      const validate = await validatorOf(command, api)
      validate(method, path, response.status, json)
    }
    const reason = json?.error?.details?.[0]?.reason
    return { status: response.status, headers: response.headers, text, json, reason }
  }
}

/** As `headland credentials create` does, but in this process: the command costs more than most tests, and has its own. */
async function issueLogin(
  dataDir: string,
  databaseUrl: string | undefined,
  { role, account: accountName }: { role: resources.Role; account: string },
): Promise<Login> {
  const sql = await openSql(dataDir, databaseUrl)
  try {
    const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
    const account = await createAccounts(parts).byName(accountName)
    const given = { role, displayName: 'made by the operator' }
    const { credential, password } = await createCredentials(parts).issue(account.id, given)
    return { userId: credential.id, password: password.reveal() }
  } finally {
    await sql.close()
  }
}

async function openSql(dataDir: string, databaseUrl: string | undefined): Promise<Sql> {
  if (!databaseUrl) return openSqlite(join(dataDir, 'headland.db'))
  const { openPostgres } = await import('../../../src/storage/sql/postgres/postgres.ts')
  return openPostgres(parseDatabaseAddress(databaseUrl))
}

async function ready(child: ChildProcess, log: () => string): Promise<{ api: string; edge: string }> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [line] = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(TIMEOUT_MS) }),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`exited with ${code} before ready:\n${log()}`))),
  ])
  const message = JSON.parse(line)
  assert.equal(message.event, 'ready')
  return message
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill(signal)
  const [code] = await exited
  return code
}

type OpenApi = { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> }

type Validate = (method: string, url: string, status: number, json: unknown) => void

const validators = new Map<string, Promise<Validate>>()

/** Made from the document of the first service of this command: it does not depend on data or settings. */
function validatorOf(command: string, api: string): Promise<Validate> {
  let made = validators.get(command)
  if (!made) {
    made = fetch(`${api}/openapi.json`).then(async (response) => createValidator((await response.json()) as OpenApi))
    // A service that is being stopped may not answer; the next call asks again.
    made.catch(() => validators.delete(command))
    validators.set(command, made)
  }
  return made
}

/** Fails the test when a reply is not what the document says of that route and status. */
function createValidator(document: OpenApi): Validate {
  // That the document is valid is a test of its own, and a check that runs a few times need not be optimized.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, code: { optimize: false } })
  ajv.addSchema(document, 'openapi')
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>()
  const paths = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`),
  }))

  return (method, url, status, json) => {
    const target = url.split('?')[0] ?? ''
    const found = paths.find(({ pattern }) => pattern.test(target))
    const responses = found && document.paths[found.path]?.[method.toLowerCase()]?.responses
    // An unknown path or method has no entry; its response is the common error.
    const pointer = responses
      ? `/paths/${pointerPart(found.path)}/${method.toLowerCase()}/responses/${status}/content/${pointerPart('application/json')}/schema`
      : '/components/schemas/Error'
    if (responses) assert.ok(responses[status], `${method} ${found.path} answered ${status}, which is not documented`)
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    compiled.set(pointer, validate)
    assert.ok(validate(json), `${method} ${url} → ${status}: ${ajv.errorsText(validate.errors)}`)
  }
}

const pointerPart = (segment: string): string => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
