/**
 * Calls webhooks as fast as possible over persistent connections. Each call has a unique User-Agent, by which it is
 * found in the ledger again.
 */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { resources } from '../../../src/contract/index.ts'
import type { Login, TestService } from './service.ts'
import { targetOf } from './webhooks.ts'

export type Called = {
  /** Its User-Agent. */
  caller: string
  url: string
  /** 0 if no complete response arrived. */
  status: number
  /** The operation in the response. */
  operation: string
  retryAfter: string | undefined
}

/**
 * Calls the URLs one after the other, from so many connections at a time. `onAnswer` gets the number of responses so
 * far.
 */
export async function callAll(
  service: Pick<TestService, 'api'>,
  urls: readonly string[],
  connections: number,
  onAnswer: (count: number) => void = () => undefined,
): Promise<Called[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const called: Called[] = []
  const left = urls.values()
  async function caller() {
    for (const url of left) {
      called.push(await callAs(`caller-${++callers}`, service, url, agent))
      onAnswer(called.length)
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  agent.destroy()
  return called
}

let callers = 0

export function callAs(
  caller: string,
  { api }: Pick<TestService, 'api'>,
  url: string,
  agent: Agent | false = false,
): Promise<Called> {
  const { hostname, port } = new URL(api)
  const asked = { host: hostname, port, agent, method: 'POST', path: targetOf(url), headers: { 'user-agent': caller } }
  return new Promise((resolve) => {
    const none = { caller, url, status: 0, operation: '', retryAfter: undefined }
    request(asked, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const { name = '' } = JSON.parse(text)
        const retryAfter = response.headers['retry-after']
        resolve({ caller, url, status: response.statusCode ?? 0, operation: name, retryAfter })
      })
      response.on('error', () => resolve(none))
    })
      .on('error', () => resolve(none))
      .end()
  })
}

/** The whole ledger of an environment, the newest first. */
export async function ledgerOf(
  service: TestService,
  as: Login,
  environment: string,
): Promise<resources.RecordedTrigger[]> {
  const entries: resources.RecordedTrigger[] = []
  for (let pageToken = ''; ; ) {
    const page = await service.call(`/v1/${environment}/triggers?pageSize=200&pageToken=${pageToken}`, { as })
    assert.equal(page.status, 200, page.text)
    entries.push(...page.json.triggers)
    pageToken = page.json.nextPageToken
    if (!pageToken) return entries
  }
}

/** Each call that got an operation is in the ledger once, with that operation. */
export function assertRecorded(called: readonly Called[], ledger: readonly resources.RecordedTrigger[]) {
  const taken = called.filter(({ status }) => status === 200)
  const entries = Map.groupBy(ledger, ({ userAgent }) => userAgent)
  const wrong = taken.filter(({ caller, operation }) => {
    const [entry, another] = entries.get(caller) ?? []
    return another !== undefined || entry?.answer !== 200 || entry.operation !== operation
  })
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${taken.length} calls are not in the ledger as answered`)
}
