/**
 * One account and its slots: which app and environment each has now, according to the responses that the account got.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../src/contract/index.ts'
import type { WebhookUrls } from '../test/support/service/webhooks.ts'
import { urlsOf } from '../test/support/service/webhooks.ts'
import type { Journal, RecordedCall } from './journal.ts'
import { SLOTS } from './plan.ts'
import type { Reply, System } from './system.ts'

export type Slot = {
  number: number
  /** How many apps it has had. */
  apps: number
  app: string
  environment: string
  url: string
  hooks: WebhookUrls | undefined
  /** Of the last upload. */
  version: number
  /** Which version each build was made from, by the build's name. */
  versions: Map<string, number>
  /** The operations of the last responses. */
  operations: string[]
}

export type Tenant = ReturnType<typeof createTenant>

const READY_TRIES = 40

export function createTenant(account: string, system: System, journal: Journal) {
  const slots = Array.from({ length: SLOTS }, (_, number) => emptySlot(number))
  let calls = 0

  /** Sends a call and records its outcome. */
  async function act(
    given: Pick<RecordedCall, 'kind' | 'about'> & Partial<RecordedCall>,
    path: string,
    { method = 'POST', body, by = 'owner' }: { method?: string; body?: unknown; by?: string } = {},
  ): Promise<{ call: RecordedCall; reply: Reply }> {
    const caller = `${by}-${account}-${++calls}`
    const call = journal.begin({ ...given, account, caller })
    const reply = await system.call(account, path, { method, body, caller })
    journal.settle(call, {
      outcome: outcomeOf(reply),
      status: reply.status,
      reason: reply.reason,
      operation: operationIn(reply),
    })
    return { call, reply }
  }

  /** Ensures that the slot has an environment with a site and webhooks. False if that failed. */
  async function furnish(slot: Slot): Promise<boolean> {
    if (!slot.app) {
      const app = `accounts/${account}/apps/app-${slot.number}-${++slot.apps}`
      const { call } = await act(
        { kind: 'createApp', about: app },
        `/v1/accounts/${account}/apps?appId=${app.split('/')[3]}`,
        {
          body: { region: `regions/${system.regionOf(slot.number)}`, uploadable: {} },
        },
      )
      if (call.outcome !== 'acknowledged') return false
      slot.app = app
    }
    if (!slot.environment) {
      const { call } = await act({ kind: 'createEnvironment', about: slot.app }, `/v1/${slot.app}/environments`, {
        body: {
          displayName: 'Torture',
          branch: 'uploadable',
          cmsEnvironment: 'cms',
          shellVariables: [{ key: 'MARK', value: 'first' }],
        },
      })
      if (call.outcome !== 'acknowledged') return false
      slot.environment = call.operation.split('/operations/')[0] ?? ''
      call.about = slot.environment
    }
    if (!slot.url) slot.url = await untilReady(slot.environment)
    if (!slot.url) return false
    if (!slot.hooks) await makeHooks(slot)
    return true
  }

  async function untilReady(environment: string): Promise<string> {
    for (let tries = 0; tries < READY_TRIES; tries++) {
      const { json } = await system.call(account, `/v1/${environment}`)
      if (json?.url) return json.url
      await wait(100)
    }
    return ''
  }

  async function makeHooks(slot: Slot) {
    const { environment } = slot
    const about = { kind: 'webhooks', about: environment } as const
    const made = await act(about, `/v1/${environment}/webhooks`, { body: {} })
    const { call, reply } =
      made.reply.status === 409 ? await act(about, `/v1/${environment}/webhooks:regenerate`) : made
    if (call.outcome === 'acknowledged') slot.hooks = urlsOf(reply.json as resources.IssuedWebhookSet)
  }

  return {
    account,
    slots,
    act,
    furnish,
    makeHooks,
    slot: (number: number) => slots[number] as Slot,
    /** Empties the slot. Its environment may still exist; the journal has what is known about that. */
    clear(slot: Slot, { withApp }: { withApp: boolean }) {
      const { number, apps, app } = slot
      Object.assign(slot, { ...emptySlot(number), apps, app: withApp ? '' : app })
    },
  }
}

const emptySlot = (number: number): Slot => ({
  number,
  apps: 0,
  app: '',
  environment: '',
  url: '',
  hooks: undefined,
  version: 0,
  versions: new Map(),
  operations: [],
})

/** After a server error it is unknown whether the call was done. */
function outcomeOf({ fate, status }: Reply): RecordedCall['outcome'] {
  if (fate === 'unsure') return 'unsure'
  if (fate === 'lost' || status >= 500) return 'lost'
  return fate === 'answered' && status < 400 ? 'acknowledged' : 'refused'
}

const operationIn = ({ json, status }: Reply): string =>
  status === 200 && typeof json?.name === 'string' && json.name.includes('/operations/') ? json.name : ''
