/**
 * In a control process of a cluster: requests of git are answered by workers, which run programs. The caller was admitted here; its
 * request is given to one of the workers that are connected, and what both send is passed on.
 */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Caller, type CallPeer, ConnectionLost, createCaller } from '../../channel/index.ts'
import { Problem, SENT_PROBLEMS } from '../../contract/index.ts'
import type { RemoteAnswer } from '../remote.ts'
import { type ControlMethods, PIECE_BYTES, piecesOf, type WorkerMethods } from './messages.ts'
import { createPackets, errorPacket } from './packets.ts'

export type Relayed = { body?: AsyncIterable<Buffer> | undefined; signal: AbortSignal; isPush: boolean }

type Worker<Request> = {
  caller: Caller<WorkerMethods<Request>>
  /** What callers send, by request. */
  bodies: Map<string, () => Promise<string | null>>
  open: number
  isLeaving: boolean
}

/** A worker that was started again is connected sooner. */
const WAIT_MS = 5000

const NONE =
  'No worker is connected to this control process, and workers run git. The operator looks whether one runs, and has the address of this process in controlAddresses'

const LOST = 'The worker that ran git was lost before it told how this ended. Do the same again'

export function createGitWorkers<Request>({ waitMs = WAIT_MS } = {}) {
  const workers = new Set<Worker<Request>>()
  let arrived = Promise.withResolvers<void>()

  function serveWorker(peer: CallPeer) {
    const bodies: Worker<Request>['bodies'] = new Map()
    const methods: ControlMethods = {
      async body({ id }) {
        const next = bodies.get(id)
        if (!next) throw new Error('this request has no body')
        return next()
      },
      leaving() {
        worker.isLeaving = true
      },
    }
    const caller = createCaller<WorkerMethods<Request>>(peer, methods, SENT_PROBLEMS)
    const worker: Worker<Request> = { caller, bodies, open: 0, isLeaving: false }
    workers.add(worker)
    arrived.resolve()
    arrived = Promise.withResolvers()
    caller.closed.then(() => workers.delete(worker))
  }

  /** The one with the least to do. */
  const next = (tried: ReadonlySet<Worker<Request>>): Worker<Request> | undefined =>
    [...workers].filter((one) => !one.isLeaving && !tried.has(one)).toSorted((a, b) => a.open - b.open)[0]

  /** Waits where there is none: they come back one by one to a process that was started again, and are started again themselves. */
  async function waitFor(tried: ReadonlySet<Worker<Request>>, signal: AbortSignal) {
    const over = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    const ended = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }))
    const haveRefused = () => [...workers].some((one) => tried.has(one) && !one.isLeaving)
    for (let found = next(tried); ; found = next(tried)) {
      if (found || over.aborted || haveRefused()) return found
      await Promise.race([arrived.promise, ended])
    }
  }

  /** Another worker is asked where one could not begin, as long as the caller's body is whole. */
  async function serve(request: Request, { body, signal, isPush }: Relayed): Promise<RemoteAnswer> {
    const id = randomUUID()
    const source = body && Readable.from(body, { objectMode: false, highWaterMark: PIECE_BYTES })
    source?.on('error', () => undefined)
    const pieces = source && piecesOf(source)
    const tried = new Set<Worker<Request>>()
    let isRead = false
    let problem: unknown = new Problem('GIT_UNAVAILABLE', `${NONE}.`)
    try {
      for (;;) {
        const worker = await waitFor(tried, signal)
        signal.throwIfAborted()
        if (!worker) throw problem
        tried.add(worker)
        if (pieces)
          worker.bodies.set(id, () => {
            isRead = true
            return pieces()
          })
        try {
          return await beginAt(worker, { id, request, hasBody: pieces !== undefined }, { signal, isPush })
        } catch (error) {
          problem = inWords(error)
          if (isRead || (problem as Problem).reason !== 'GIT_UNAVAILABLE') throw problem
        } finally {
          worker.bodies.delete(id)
        }
      }
    } finally {
      source?.destroy()
    }
  }

  async function beginAt(
    worker: Worker<Request>,
    given: { id: string; request: Request; hasBody: boolean },
    { signal, isPush }: Pick<Relayed, 'signal' | 'isPush'>,
  ): Promise<RemoteAnswer> {
    const { caller } = worker
    worker.open += 1
    try {
      const head = await caller.call('begin', given, signal)
      const body = answerOf(caller, given.id, isPush)
      worker.open += 1
      body.once('close', () => {
        worker.open -= 1
      })
      return { head, body }
    } catch (error) {
      // It may have begun just when the caller left.
      if (signal.aborted) caller.notify('leave', { id: given.id })
      throw error
    } finally {
      worker.open -= 1
    }
  }

  return { serveWorker, serve }
}

export type GitWorkers<Request> = ReturnType<typeof createGitWorkers<Request>>

const inWords = (error: unknown): unknown =>
  error instanceof ConnectionLost ? new Problem('GIT_UNAVAILABLE', `${LOST}.`) : error

/** To be read to its end, or destroyed. What breaks off in a push is told the pusher, as git tells its own failures. */
function answerOf<Request>(caller: Caller<WorkerMethods<Request>>, id: string, isPush: boolean): Readable {
  const packets = isPush ? createPackets() : undefined
  let isOver = false

  async function pull(): Promise<Buffer | null> {
    for (;;) {
      const piece = await caller.call('read', { id })
      isOver = piece === null
      if (piece === null) return packets?.rest() ?? null
      const bytes = Buffer.from(piece, 'base64')
      const whole = packets ? packets.take(bytes) : bytes
      if (whole.length > 0) return whole
    }
  }

  const answer: Readable = new Readable({
    highWaterMark: PIECE_BYTES,
    read() {
      if (isOver) return void answer.push(null)
      pull().then(
        (bytes) => answer.push(bytes),
        (error) => {
          isOver = true
          const told = inWords(error)
          if (!packets?.mayTell()) return answer.destroy(told as Error)
          answer.push(errorPacket(told instanceof Problem ? `${told.reason}. ${told.message}` : LOST))
        },
      )
    },
    destroy(error, done) {
      if (!isOver) caller.notify('leave', { id })
      done(error)
    },
  })
  answer.on('error', () => undefined)
  return answer
}
