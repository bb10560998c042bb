/**
 * A server that answers like Headland, with a hostile text in every field that can hold one. Commands run far with it,
 * since the ids and states that they depend on are valid, unless the manner is `every text is hostile`.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from '../folder.ts'

const ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
export const ENVIRONMENT_NAME = `accounts/acme/apps/shop/environments/${ID}`
const TIME = '2026-01-01T00:00:00.000Z'

export type Manner = 'names are right' | 'every text is hostile' | 'every call fails' | 'every operation fails'

export async function startHostileService(t: Scope, hostile: string, manner: Manner): Promise<string> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    if (manner === 'every call fails') fail(response, hostile)
    else if (request.url?.includes('/log')) sendLog(request, response, hostile)
    else sendJson(response, answerTo(request, hostile, manner), hostile)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function fail(response: ServerResponse, hostile: string) {
  const error = { code: 400, message: hostile, status: hostile, details: [{ reason: hostile, todo: hostile }] }
  response.writeHead(400, { 'retry-after': '0' }).end(JSON.stringify({ error }))
}

function sendJson(response: ServerResponse, answer: unknown, hostile: string) {
  // A header cannot hold bytes below 32, but can hold the upper control characters.
  const latin = hostile.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '')
  response.setHeader('set-cookie', `session=1${latin.replaceAll(';', '')}`)
  response.end(JSON.stringify(answer))
}

function sendLog({ headers }: IncomingMessage, response: ServerResponse, hostile: string) {
  response.setHeader('x-next-offset', '1')
  if (headers.accept !== 'text/event-stream') {
    return response.end(`1 ${TIME} BUILDING stdout ${hostile.replaceAll('\n', ' ')}\n`)
  }
  const line = { number: 1, time: 0, stream: 'service', phase: hostile, text: hostile }
  response.end(`event: line\ndata: ${JSON.stringify(line)}\n\nevent: end\ndata: {}\n\n`)
}

function answerTo({ url = '', method }: IncomingMessage, hostile: string, manner: Manner): unknown {
  const [path = ''] = url.split('?')
  const name = (right: string) => (manner === 'every text is hostile' ? hostile : right)
  const environment = {
    name: name(ENVIRONMENT_NAME),
    displayName: hostile,
    state: hostile,
    url: manner === 'every text is hostile' ? hostile : `https://shop.example.com/${hostile}`,
    domains: ['shop.example.com', hostile],
    cmsEnvironment: hostile,
    rootDirectory: hostile,
    minInstances: hostile,
    maxInstances: hostile,
    requestsPerInstance: hostile,
    production: false,
    badge: true,
    learnedCaching: { maxAgeSeconds: hostile },
    protection: { hasPassword: hostile, addresses: [hostile] },
    shellVariables: [{ key: hostile, value: hostile }],
    deployment: name(`${ENVIRONMENT_NAME}/deployments/${ID}`),
    build: name(`${ENVIRONMENT_NAME}/builds/${ID}`),
    preview: { branch: hostile, expireTime: hostile, inheritedVariables: [hostile] },
    createTime: hostile,
    updateTime: hostile,
  }
  const commit = { sha: hostile, branch: hostile, subject: hostile, author: hostile, repository: hostile }
  const build = {
    name: name(`${ENVIRONMENT_NAME}/builds/${ID}`),
    state: path.endsWith(ID) ? 'FAILED' : hostile,
    trigger: hostile,
    message: hostile,
    commit,
    phase: hostile,
    createTime: hostile,
    startTime: hostile,
    finishTime: hostile,
    archive: { files: 1, bytes: 1 },
    plan: { framework: hostile, output: { kind: hostile } },
    image: hostile,
    tools: { node: hostile, packageManager: hostile },
    caches: [{ cache: hostile, state: hostile }],
    durations: { [hostile]: 1 },
    failure: {
      reason: hostile,
      fault: hostile,
      retryable: false,
      message: hostile,
      logLine: 1,
      todo: hostile,
      page: hostile,
      changes: [hostile],
    },
  }
  const metadata = { phase: hostile, trigger: hostile, build: build.name, deployment: hostile, settlesUntil: hostile }
  const error = { code: 9, message: hostile, details: [{ reason: hostile }] }
  const operation = {
    name: name(`${ENVIRONMENT_NAME}/operations/${ID}`),
    done: true,
    metadata,
    ...(manner === 'every operation fails' ? { error } : { response: environment }),
  }
  const deployment = {
    name: name(`${ENVIRONMENT_NAME}/deployments/${ID}`),
    state: hostile,
    build: build.name,
    activatable: true,
    liveTime: hostile,
    instance: { state: hostile },
    message: hostile,
    check: checkOf(hostile),
  }
  const webhooks = ['rebuild', 'cleanRebuild', 'purgeCache'].map((action) => ({
    action: name(action),
    url: hostile,
    lastUseTime: hostile,
  }))
  const trigger = {
    createTime: hostile,
    action: hostile,
    source: hostile,
    answer: 200,
    reason: hostile,
    address: hostile,
    userAgent: hostile,
    commit,
  }
  const certificate = {
    name: name(`accounts/acme/certificates/${ID}`),
    names: ['shop.example.com', hostile],
    usedFor: [hostile],
    source: 'ACME',
    state: hostile,
    notAfter: hostile,
    nextAttemptTime: hostile,
    failure: { type: hostile, detail: hostile, action: hostile, time: hostile },
    createTime: hostile,
  }
  const { failure: _, ...named } = certificate
  const uploaded = { ...named, source: 'UPLOADED', warning: hostile }

  if (path === '/v1/session') return { expireTime: TIME, email: hostile }
  if (path === '/v1/accounts') return { accounts: [{ name: name('accounts/acme'), role: hostile }] }
  if (path === '/v1/regions') return { regions: [{ name: name('regions/UK'), displayName: hostile }] }
  if (path.endsWith('/apps'))
    return { apps: [{ name: name('accounts/acme/apps/shop'), region: hostile, createTime: hostile }] }
  if (path.endsWith(':preview')) return environment
  if (path.endsWith(':promote')) return { operation, built: hostile, differing: [hostile] }
  if (/\/apps\/[^/]+$/.test(path))
    return {
      name: name('accounts/acme/apps/shop'),
      region: hostile,
      createTime: hostile,
      previews: { enabled: hostile, environment: hostile, secrets: hostile, maxCount: hostile, idleDays: hostile },
    }
  if (path.endsWith(':trace')) {
    const timeline = [{ time: hostile, what: hostile, detail: hostile }]
    return {
      url: hostile,
      verdict: hostile,
      deployment: hostile,
      build: hostile,
      stored: [storedOf(hostile)],
      origin: { detail: hostile },
      timeline,
    }
  }
  if (/\/webhooks/.test(path))
    return { webhooks, quietSeconds: hostile, maxQuietSeconds: hostile, regenerateTime: hostile }
  if (/\/certificates$/.test(path) && method === 'GET') return { certificates: [certificate, uploaded] }
  if (/\/certificates/.test(path)) return certificate
  if (/\/auditEvents$/.test(path)) {
    const by = { kind: hostile, name: hostile }
    const texts = { time: hostile, action: hostile, resource: hostile, title: hostile, way: hostile, address: hostile }
    return { auditEvents: [{ ...texts, fields: [hostile], by }, { fields: hostile }], nextPageToken: hostile }
  }
  if (/\/repository/.test(path)) return repositoryOf(environment.name, hostile)
  if (/\/schedules/.test(path)) return schedulesOf(path, method, name(`${environment.name}/schedules/${ID}`), hostile)
  if (path.includes('/publish')) return publishesOf(path, hostile)
  if (path.includes('/notificationTargets')) return notificationAnswer(path, method, { hostile, name })
  if (/\/domains/.test(path)) return { domains: ['shop.example.com', hostile] }
  if (url.includes('validateOnly')) return { plan: { framework: hostile, [hostile]: hostile } }
  if (method !== 'GET' && !path.endsWith(':cancel')) return operation
  if (path.endsWith('/environments')) return { environments: [environment] }
  if (path.endsWith('/contentDiff')) return contentDiffOf(hostile)
  if (path.endsWith('/builds')) return { builds: [build], nextPageToken: hostile }
  if (path.endsWith('/deployments')) return { deployments: [deployment, { ...deployment }] }
  if (path.includes('/deployments/')) return deployment
  if (path.endsWith('/triggers')) return { triggers: [trigger] }
  return path.includes('/builds/') ? build : environment
}

const storedOf = (hostile: string) => ({
  variant: { [hostile]: hostile },
  status: hostile,
  bytes: 1,
  place: hostile,
  storeTime: hostile,
  validateTime: `${hostile}2`,
  ageSeconds: hostile,
  lifetimeSeconds: hostile,
  lifetimeFrom: hostile,
  comparison: 'SAME',
  hits: hostile,
  deployment: hostile,
  tags: [hostile],
  etag: hostile,
})

const checkOf = (hostile: string) => ({
  outcome: hostile,
  mode: hostile,
  skipped: hostile,
  logErrors: { count: 1, lines: [hostile] },
  pages: [{ path: hostile, verdict: hostile, why: hostile, after: { status: hostile, milliseconds: hostile } }],
})

function contentDiffOf(hostile: string): unknown {
  const asked = { method: hostile, url: hostile, query: hostile, status: hostile }
  const changes = [
    { path: hostile, before: hostile, after: hostile },
    { path: hostile, after: hostile },
  ]
  const changed = [{ ...asked, statusBefore: hostile, statusAfter: 200, changes, moreChanges: hostile, ids: [hostile] }]
  const counts = { added: hostile, removed: hostile, changed: hostile, unchanged: hostile }
  const ends = { from: hostile, to: hostile, fromTime: hostile, toTime: hostile }
  return { ...ends, counts, added: [asked], removed: [asked], changed }
}

function schedulesOf(path: string, method: string | undefined, name: string, hostile: string): unknown {
  const schedule = {
    name,
    action: hostile,
    cron: hostile,
    timeZone: hostile,
    paused: hostile,
    nextTimes: [hostile],
    lastTime: hostile,
    lastOperation: hostile,
    createTime: hostile,
  }
  return /\/schedules$/.test(path) && method === 'GET' ? { schedules: [schedule] } : schedule
}

function publishesOf(path: string, hostile: string): unknown {
  const times = { count: 1, p50Ms: hostile, p95Ms: hostile, p99Ms: 1 }
  if (path.endsWith('/publishTimes'))
    return { kinds: [{ kind: hostile, visible: times, building: hostile, late: hostile }, {}] }
  const publish = { name: hostile, kind: hostile, trigger: hostile, state: hostile, late: hostile, calls: hostile }
  return {
    publishes: [{ ...publish, callTime: hostile, visibleMs: hostile, operation: hostile, requestedBy: hostile }, {}],
  }
}

type Hostile = { hostile: string; name(right: string): string }

function notificationAnswer(path: string, method: string | undefined, { hostile, name }: Hostile): unknown {
  const target = {
    name: name(`accounts/acme/notificationTargets/${ID}`),
    displayName: hostile,
    kind: hostile,
    host: hostile,
    addresses: [hostile],
    noticeKinds: [hostile],
    apps: [hostile],
    enabled: hostile,
    disabledReason: hostile,
    secret: hostile,
  }
  const delivery = {
    name: name(`${target.name}/deliveries/${ID}`),
    kind: hostile,
    title: hostile,
    state: hostile,
    attempts: hostile,
    responseStatus: hostile,
    error: hostile,
    createTime: hostile,
  }
  if (/\/notificationTargets$/.test(path) && method === 'GET') return { notificationTargets: [target] }
  if (/\/deliveries$/.test(path)) return { deliveries: [delivery] }
  if (/\/notificationTargets.*:test$/.test(path)) return delivery
  return target
}
const repositoryOf = (environment: string, hostile: string) => ({
  name: `${environment}/repository`,
  url: hostile,
  branch: hostile,
  provider: hostile,
  publicKey: hostile,
  pollMinutes: hostile,
  hookUrl: hostile,
  hookSecret: hostile,
  lastCommit: hostile,
  lastFetchTime: hostile,
  problem: { reason: hostile, message: hostile, time: hostile },
  statusProblem: { reason: hostile, message: hostile, time: hostile },
})
