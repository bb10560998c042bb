/**
 * What is tortured: one machine (`machine/`) or a cluster (`cluster/`). Load, journal and checks are the same for both; how it is
 * reached, what can break in it and what must not be left over in it is not.
 */
import type { Inspected } from './inspect.ts'
import type { Spoils, Violation } from './journal.ts'
import type { FaultAct, FaultPlan } from './plan.ts'

export type Reply = {
  /** `unsure`: it may still be done. `lost`: the connection broke, so it was done by now, or never will be. */
  fate: 'answered' | 'never sent' | 'lost' | 'unsure'
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: actors read any field of any reply
  json: any
  reason: string
}

export type CallOptions = { method?: string; body?: unknown; caller?: string; timeoutMs?: number }

export type PreparedFault = {
  /** The work that it is allowed to make fail. */
  spoils: Spoils
  /** The edge that it cuts off from the control processes: there, visitors may get an older version. */
  edge?: number
  detail?: string
  /** Causes it and reverts it. */
  run(): Promise<unknown>
}

/** Waits, or until the load is over. */
export type Pause = (ms: number) => Promise<unknown>

export type System = {
  /** The address of the API for the next call: any process that has one may get it. */
  api(): string
  call(account: string, path: string, options?: CallOptions): Promise<Reply>
  authorization(account: string): string
  /** The addresses where visitors come in. */
  edges(): readonly string[]
  /** The edge for the next visit. */
  nextEdge(): number
  /** Where the apps of a slot run. */
  regionOf(slot: number): string
  /** Visitors stay away from such slots for a while, so that the apps there fall asleep. */
  isQuiet(slot: number): boolean
  /** How much longer tenants pause between two acts. */
  pace: number

  plan: FaultPlan
  /** The effects of a fault outlast it so long. */
  aftermathMs: number
  faultOf(act: FaultAct, pause: Pause): PreparedFault

  /** Only the run stops its processes: any other end is a violation. */
  guard(signal: AbortSignal): Promise<void>
  violations: Violation[]
  restarts(): number

  /** Resolves when everything that was broken is back. */
  settle(): Promise<void>
  /** What belongs to no live environment, once nothing is done any more. */
  leftWhenQuiet(found: Inspected): Promise<string[]>
  /** Stops all of it, and resolves to what is wrong afterwards. */
  stop(): Promise<Violation[]>
  log(): string
  /** Keeps the data, and resolves to where it is. */
  keep(seed: number): Promise<string>
  /** Removes the data. */
  forget(): Promise<void>
}

export async function send(url: string, authorization: string, options: CallOptions): Promise<Reply> {
  const { method = 'GET', body, caller = 'torture', timeoutMs = 40_000 } = options
  const isForm = body instanceof FormData
  const none = { status: 0, text: '', json: undefined, reason: '' }
  try {
    const response = await fetch(url, {
      method,
      headers: {
        authorization,
        'user-agent': caller,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const json = isJson && text ? JSON.parse(text) : undefined
    const reason = json?.error?.details?.[0]?.reason ?? ''
    return { fate: 'answered', status: response.status, text, json, reason }
  } catch (error) {
    const { name, cause } = error as Error & { cause?: NodeJS.ErrnoException }
    if (cause?.code === 'ECONNREFUSED') return { ...none, fate: 'never sent' }
    // A service that is only stopped may do it when it continues; one that closed the connection was killed.
    return { ...none, fate: name === 'TimeoutError' ? 'unsure' : 'lost' }
  }
}
