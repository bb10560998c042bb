/** What the recording program tells on its standard output: lines of JSON, which are checked, since it reads untrusted bytes. */
/** A host failed although it answered the build before. */
export type Outage = { protocol: 'http' | 'https'; host: string; port: number; url: string; why: string }

type Ready = { ca: string; extra: string[] }

type Listeners = {
  onOutage(outage: Outage): void
  onMiss(miss: { method: string; url: string }): void
  onIncomplete(why: string): void
}

const MAX_BYTES = 8 * 1024 ** 2
const MAX_TEXT = 2500

export function createMessages({ onOutage, onMiss, onIncomplete }: Listeners) {
  const ready = Promise.withResolvers<Ready | undefined>()
  let counted: { answers: number; bytes: number } | undefined
  let held = ''
  let bytes = 0

  function receive(line: string) {
    const told = parsed(line)
    if (told === undefined) return
    const { outage, miss, incomplete, end } = told
    const first = told.ready as Partial<Ready> | undefined
    if (first && typeof first.ca === 'string')
      ready.resolve({ ca: first.ca, extra: Array.isArray(first.extra) ? first.extra.map(String) : [] })
    if (isOutage(outage)) onOutage({ ...outage, url: text(outage.url), why: text(outage.why) })
    const { method, url } = (miss ?? {}) as Record<string, unknown>
    if (miss) onMiss({ method: text(method), url: text(url) })
    if (typeof incomplete === 'string') onIncomplete(text(incomplete))
    const { answers, bytes: size } = (end ?? {}) as Record<string, unknown>
    if (Number.isSafeInteger(answers) && Number.isSafeInteger(size))
      counted = { answers: Number(answers), bytes: Number(size) }
  }

  return {
    /** Undefined if it ended before. */
    ready: ready.promise,
    counted: () => counted,
    over: () => ready.resolve(undefined),
    take(chunk: Buffer) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) return
      held += chunk.toString('latin1')
      const lines = held.split('\n')
      held = lines.pop() ?? ''
      for (const line of lines) receive(Buffer.from(line, 'latin1').toString())
    },
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const isOutage = (value: unknown): value is Outage => {
  const { protocol, host, port } = (value ?? {}) as Partial<Outage>
  return (
    (protocol === 'http' || protocol === 'https') &&
    typeof host === 'string' &&
    host.length <= 253 &&
    Number.isInteger(port) &&
    Number(port) > 0 &&
    Number(port) < 65_536
  )
}

const text = (value: unknown): string => String(value ?? '').slice(0, MAX_TEXT)
