/**
 * Server-sent events read with `fetch`: unlike `EventSource`, it gives the status of a refusal, and a 401 does not make
 * the browser ask for a password. It opens one connection; the caller decides whether and when to reconnect.
 */
import { ask } from '../client.ts'

export type StreamEvent = { event: string; data: string; id: string }

type Options = {
  signal: AbortSignal
  lastEventId?: string | undefined
  onOpen?: () => void
  onEvent(event: StreamEvent): void
}

/** Resolves when the stream ends; throws `CallFailed` when it is refused, and what `fetch` throws when it breaks. */
export async function readEventStream(url: string, { signal, lastEventId, onOpen, onEvent }: Options): Promise<void> {
  const response = await ask(url, {
    signal,
    cache: 'no-store',
    headers: { accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
  })
  onOpen?.()
  const parser = createParser(onEvent)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader) {
    const { value, done } = await reader.read()
    if (done) return
    parser(value)
  }
}

/** Accepts chunks of text as they arrive, and calls back for each complete event (HTML, section 9.2.6). */
export function createParser(onEvent: (event: StreamEvent) => void): (text: string) => void {
  let rest = ''
  let [event, data, id]: [string, string[], string] = ['', [], '']

  function take(line: string) {
    if (line === '') {
      if (data.length > 0) onEvent({ event: event || 'message', data: data.join('\n'), id })
      ;[event, data] = ['', []]
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
  }

  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
