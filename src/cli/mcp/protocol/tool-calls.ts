/** Runs tools: checks their arguments, passes on progress, asks the user where a tool wants that, and writes the result. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { CODES, type Id, isObject, type Outgoing, type Params, ProtocolError } from './messages.ts'
import { AnswerNeeded, createRepeatedCalls, formOf, isYes, type Question } from './questions.ts'
import type { Peer } from './versions.ts'

/** What tools/list shows of a tool. */
export type ToolForm = {
  name: string
  title: string
  description: string
  inputSchema: object
  annotations: object
}

export type RunningTool = {
  signal: AbortSignal
  /** Shown to the user by clients that asked for it. */
  progress(message: string): void
  /** Whether the user agrees; undefined where the client cannot ask. */
  ask(question: Question): Promise<boolean | undefined>
}

export type HostedTool = { form: ToolForm; run(given: Params, running: RunningTool): Promise<ToolResult> }

export type ToolResult = { content: { type: 'text'; text: string }[]; structuredContent: object; isError?: true }

export type ToolHost = {
  tools: readonly HostedTool[]
  /** Of an error that is not the protocol's. */
  failed(error: unknown): ToolResult
}

type Parts = ToolHost & { send(message: Outgoing): Promise<void>; signal: AbortSignal }
type Asked = { peer: Peer; id: Id; signal: AbortSignal }

/** How often progress is passed on. */
const PROGRESS_MS = 250
/** As long as a user may need for a question. */
const ANSWER_MS = 10 * 60_000

export function createToolCalls({ tools, failed, send, signal: over }: Parts) {
  const byName = new Map(tools.map((tool) => [tool.form.name, tool]))
  const checks = new Map<string, ValidateFunction>()
  const waiting = new Map<string, (answer: unknown) => void>()
  const askedBefore = createRepeatedCalls()
  let questions = 0

  async function checkOf({ name, inputSchema }: ToolForm): Promise<ValidateFunction> {
    const known = checks.get(name)
    if (known) return known
    const { Ajv2020 } = await import('ajv/dist/2020.js')
    const check = new Ajv2020({ strict: false, allErrors: false }).compile(inputSchema)
    checks.set(name, check)
    return check
  }

  async function run(params: Params, asked: Asked): Promise<ToolResult | { resultType: string }> {
    const { name, arguments: given = {} } = params
    const tool = typeof name === 'string' ? byName.get(name) : undefined
    if (!tool) throw new ProtocolError(CODES.params, `Unknown tool: ${JSON.stringify(String(name).slice(0, 100))}`)
    if (!isObject(given)) throw new ProtocolError(CODES.params, 'arguments must be an object')
    const check = await checkOf(tool.form)
    if (!check(given)) return failed(new WrongArguments(check.errors ?? []))
    const signal = AbortSignal.any([asked.signal, over])
    try {
      return await tool.run(given, {
        signal,
        progress: progressFor(params),
        ask: (question) => ask(question, params, asked),
      })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof AnswerNeeded) return error.result as { resultType: string }
      return failed(error)
    }
  }

  /** A client that wants progress gives a token. Each notification has a greater number. */
  function progressFor({ _meta: meta }: Params): (message: string) => void {
    const token = isObject(meta) ? meta.progressToken : undefined
    if (typeof token !== 'string' && typeof token !== 'number') return () => undefined
    let [progress, lastMs, lastMessage] = [0, 0, '']
    return (message) => {
      const now = performance.now()
      if (message === lastMessage || now - lastMs < PROGRESS_MS) return
      ;[lastMs, lastMessage] = [now, message]
      progress += 1
      const params = { progressToken: token, progress, message }
      send({ jsonrpc: '2.0', method: 'notifications/progress', params }).catch(() => undefined)
    }
  }

  async function ask(question: Question, params: Params, { peer, id, signal }: Asked): Promise<boolean | undefined> {
    if (!peer.canAsk) return undefined
    if (peer.isPerRequest) return askedBefore(params, question)
    questions += 1
    const own = `${String(id).slice(0, 100)}-question-${questions}`
    const until = AbortSignal.any([signal, over, AbortSignal.timeout(ANSWER_MS)])
    const answered = new Promise<unknown>((resolve, reject) => {
      waiting.set(own, resolve)
      until.addEventListener('abort', () => reject(until.reason), { once: true })
    })
    try {
      await send({ jsonrpc: '2.0', id: own, method: 'elicitation/create', params: formOf(question) })
      return isYes(await answered)
    } finally {
      waiting.delete(own)
    }
  }

  return {
    run,
    /** An answer to a question; an error of the client counts as no. */
    onAnswer({ id, result }: Params) {
      if (typeof id === 'string') waiting.get(id)?.(result)
    },
  }
}

export class WrongArguments extends Error {
  constructor(errors: readonly ErrorObject[]) {
    super(
      errors
        .map(
          ({ instancePath, message, params }) => `${instancePath.slice(1) || 'arguments'} ${message}${extraIn(params)}`,
        )
        .join('; '),
    )
    this.name = 'WrongArguments'
  }
}

const extraIn = (params: Record<string, unknown>): string =>
  typeof params.additionalProperty === 'string' ? `: ${JSON.stringify(params.additionalProperty.slice(0, 100))}` : ''
