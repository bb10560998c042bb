/**
 * The real service in a process of its own, as `npm start` runs it, on free ports and a temporary data folder. Every
 * JSON reply is checked against the OpenAPI document that the service itself serves.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { resources } from '../../../src/contract/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { TIMEOUT_MS } from '../until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

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
  pid: number
  edgePid(): number
  /** What the service wrote to stderr so far. */
  log(): string
  call(path: string, options?: CallOptions): Promise<ApiResponse>
  /** Runs an operator's command on the data folder. */
  operator(...args: string[]): Promise<string>
  login(role?: resources.Role, account?: string): Promise<Login>
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL, as the kernel or an operator might. */
  kill(): Promise<void>
}

type Start = {
  dataDir?: string
  settings?: Record<string, string>
  /** The command, if it is not that of this checkout on the Node of this test. */
  command?: readonly [file: string, ...args: string[]]
}

export async function startService(t: Scope, given: Start = {}): Promise<TestService> {
  const dataDir = given.dataDir ?? (await temporaryFolder(t))
  const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir, ...given.settings }
  const [file, ...first] = given.command ?? [process.execPath, HEADLAND]
  const child = spawn(file, [...first, 'serve'], {
    env: { HEADLAND_LISTEN: '127.0.0.1:0', HEADLAND_EDGE_LISTEN: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  t.after(() => end(child, 'SIGKILL'))
  const { api, edge } = await ready(child, () => log)

  let validate: ReturnType<typeof createValidator> | undefined

  async function call(
    path: string,
    { method = 'GET', as, body, headers = {} }: CallOptions = {},
  ): Promise<ApiResponse> {
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
      validate ??= createValidator((await (await fetch(`${api}/openapi.json`)).json()) as OpenApi)
      validate(method, path, response.status, json)
    }
    const reason = json?.error?.details?.[0]?.reason
    return { status: response.status, headers: response.headers, text, json, reason }
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
    edgePid() {
      const found = /"edgePid":(\d+)/.exec(log)?.[1]
      assert.ok(found, 'the log has the pid of the edge')
      return Number(found)
    },
    log: () => log,
    call,
    operator,
    async login(role = 'owner', account = 'default') {
      return JSON.parse(await operator('credentials', 'create', '--account', account, '--role', role, '--json'))
    },
    stop: () => end(child, 'SIGTERM'),
    async kill() {
      await end(child, 'SIGKILL')
    },
  }
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

/** Fails the test when a reply is not what the document says of that route and status. */
function createValidator(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'openapi')
  const paths = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`),
  }))

  return (method: string, url: string, status: number, json: unknown) => {
    const target = url.split('?')[0] ?? ''
    const found = paths.find(({ pattern }) => pattern.test(target))
    const responses = found && document.paths[found.path]?.[method.toLowerCase()]?.responses
    // An unknown path or method has no entry; its response is the common error.
    const pointer = responses
      ? `/paths/${pointerPart(found.path)}/${method.toLowerCase()}/responses/${status}/content/${pointerPart('application/json')}/schema`
      : '/components/schemas/Error'
    if (responses) assert.ok(responses[status], `${method} ${found.path} answered ${status}, which is not documented`)
    const validate = ajv.compile({ $ref: `openapi#${pointer}` })
    assert.ok(validate(json), `${method} ${url} → ${status}: ${ajv.errorsText(validate.errors)}`)
  }
}

const pointerPart = (segment: string): string => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
