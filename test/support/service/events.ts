/** Follows server-sent events of the service, as a browser does. */
import assert from 'node:assert/strict'
import type { Scope } from '../folder.ts'
import { TIMEOUT_MS } from '../until.ts'
import type { Login, TestService } from './service.ts'

export type ServerEvent = { event: string; data: string }

/** Longer than anything that a test waits for. */

export type Follower = {
  headers: Headers
  /** All events received so far. */
  events: ServerEvent[]
  /** The names of the changes received so far. */
  names(): string[]
  /** Resolves when this holds for the events received so far. */
  until(claim: (events: ServerEvent[]) => boolean): Promise<void>
  untilNamed(name: string | RegExp): Promise<void>
  /** Resolves when the stream has ended, properly or not. */
  ended: Promise<void>
  /** The error with which the stream broke off, if it did. */
  failure(): unknown
  close(): void
}

type Caller = { as?: Login; cookie?: string }

export async function follow(
  t: Scope,
  service: TestService,
  { as, cookie }: Caller,
  path = '/v1/accounts/default/events',
): Promise<Follower> {
  const closing = new AbortController()
  t.after(() => closing.abort())
  const response = await fetch(`${service.api}${path}`, {
    headers: {
      accept: 'text/event-stream',
      ...(as ? { authorization: `Basic ${btoa(`${as.userId}:${as.password}`)}` } : {}),
      ...(cookie === undefined ? {} : { cookie }),
    },
    signal: closing.signal,
  })
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.text())
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  const events: ServerEvent[] = []
  let onEvent: () => void = () => undefined
  let isOver = false
  let failure: unknown

  async function read() {
    let text = ''
    for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split('\n\n')
      text = parts.pop() ?? ''
      events.push(...parts.flatMap(toEvent))
      onEvent()
    }
  }
  const ended = read()
    .catch((error) => {
      failure = closing.signal.aborted ? undefined : error
    })
    .finally(() => {
      isOver = true
      onEvent()
    })
  const names = () =>
    events.filter(({ event }) => event === 'change').map(({ data }) => JSON.parse(data).name as string)

  async function until(claim: (events: ServerEvent[]) => boolean) {
    const deadline = AbortSignal.timeout(TIMEOUT_MS)
    while (!claim(events)) {
      assert.ok(!isOver, `the stream ended before ${claim}; it had: ${names().join(', ')}`)
      assert.ok(!deadline.aborted, `timed out before ${claim}; the stream had: ${names().join(', ')}`)
      await new Promise<void>((resolve) => {
        onEvent = resolve
        deadline.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }
  return {
    headers: response.headers,
    events,
    names,
    until,
    untilNamed: (name) =>
      until(() => names().some((one) => (typeof name === 'string' ? one === name : name.test(one)))),
    ended,
    failure: () => failure,
    close: () => closing.abort(),
  }
}

function toEvent(text: string): ServerEvent[] {
  const fields = new Map(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const event = fields.get('event')
  return event === undefined ? [] : [{ event, data: fields.get('data') ?? '' }]
}
