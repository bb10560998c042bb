/** A client of the API with what the measurements need. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

const ASLEEP_MS = 120_000

export type Caller = { api: string; headers: Record<string, string> }

export async function post(
  { api, headers }: Caller,
  path: string,
  body: unknown,
): Promise<{
  name: string
  done: boolean
  error?: unknown
  metadata?: { build: string }
  response?: { url: string; state: string }
}> {
  const isForm = body instanceof FormData
  const response = await fetch(api + path, {
    method: 'POST',
    headers: { ...headers, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text ? JSON.parse(text) : { name: '', done: true }
}

export async function read(caller: Caller, path: string) {
  return (await fetch(caller.api + path, { headers: caller.headers })).json() as Promise<Record<string, unknown>>
}

export const createApp = (caller: Caller, app: string) =>
  post(caller, `/v1/accounts/default/apps?appId=${app}`, { region: 'regions/EU-W', uploadable: {} })

/** The name of the environment and the address of its site. */
export async function createEnvironment(caller: Caller, app: string): Promise<{ name: string; url: string }> {
  const draft = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'cms' }
  const { name } = await post(caller, `/v1/accounts/default/apps/${app}/environments`, draft)
  const { response } = await untilDone(caller, name)
  return { name: name.split('/operations/')[0] ?? '', url: response?.url ?? '' }
}

export async function untilDone(caller: Caller, operation: string) {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await post(caller, `/v1/${operation}:wait?timeout=60s`, {})
    if (!answer.done) continue
    assert.equal(answer.error, undefined, JSON.stringify(answer.error))
    return answer
  }
  throw new Error(`${operation} is not done`)
}

export async function deploy(caller: Caller, environment: string, zip: Uint8Array): Promise<void> {
  const form = new FormData()
  form.append('repository', new Blob([new Uint8Array(zip)]), 'app.zip')
  const { name } = await post(caller, `/fu/v1/${environment}:upload`, form)
  await untilDone(caller, name)
}

/** Resolves to the name of the build. */
export async function rebuild(caller: Caller, environment: string, body: { clean: boolean }): Promise<string> {
  const { name } = await post(caller, `/v1/${environment}:rebuild`, body)
  const { metadata } = await untilDone(caller, name)
  return String(metadata?.build)
}

/** Asks the edge for a site; resolves to the seconds until the complete response. */
export async function visit(edge: string, siteUrl: string): Promise<number> {
  const { stdout } = await promisify(execFile)('curl', [
    ...['-s', '-o', '/dev/null', '-w', '%{http_code} %{time_total}'],
    ...['-H', `Host: ${new URL(siteUrl).host}`, edge],
  ])
  const [status, seconds] = stdout.split(' ')
  assert.equal(status, '200', `${siteUrl} answered ${status}`)
  return Number(seconds)
}

export async function untilAsleep(caller: Caller, environments: readonly string[]) {
  const deadline = performance.now() + ASLEEP_MS
  for (const environment of environments) {
    const { deployment } = await read(caller, `/v1/${environment}`)
    for (;;) {
      const { instance } = (await read(caller, `/v1/${deployment}`)) as { instance?: { state: string } }
      if (instance?.state === 'ASLEEP') break
      assert.ok(performance.now() < deadline, `${environment} does not fall asleep`)
      await wait(500)
    }
  }
}
