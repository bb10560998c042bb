/** In a worker: answers requests of git that control processes pass on. It is connected to each of them, as any may be called. */
import { type CallPeer, createCaller, followPeer, type Greeting, type PeerAddress } from '../../channel/index.ts'
import { Problem, SENT_PROBLEMS } from '../../contract/index.ts'
import type { RemoteAnswer } from '../remote.ts'
import { type ControlMethods, piecesOf, TOPIC, type WorkerMethods } from './messages.ts'

type Serve<Request> = (
  request: Request,
  given: { body?: AsyncIterable<Buffer> | undefined; signal: AbortSignal },
) => Promise<RemoteAnswer>

type Parts<Request> = {
  addresses: readonly PeerAddress[]
  greeting: Greeting
  serve: Serve<Request>
  onRefused(error: unknown): void
}

export function answerControls<Request>({ addresses, greeting, serve, onRefused }: Parts<Request>) {
  const connected = new Set<ReturnType<typeof answerPeer<Request>>>()
  const following = addresses.map((address) =>
    followPeer({
      addresses: [address],
      greeting: { ...greeting, topic: TOPIC },
      onPeer(peer: CallPeer) {
        const answering = answerPeer(peer, serve)
        connected.add(answering)
        peer.closed.then(() => connected.delete(answering))
      },
      onRefused,
    }),
  )

  return {
    /** Requests that are being answered may take until `over` is aborted. */
    async stop(over: AbortSignal) {
      const left = [...connected].map((one) => one.leave())
      const ended = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }))
      if (!over.aborted) await Promise.race([Promise.all(left), ended])
      await Promise.all(following.map((one) => one.stop()))
    },
  }
}

function answerPeer<Request>(peer: CallPeer, serve: Serve<Request>) {
  /** Answers that are being read. */
  const open = new Map<string, { next(): Promise<string | null>; body: RemoteAnswer['body'] }>()
  let beginning = 0
  let isLeaving = false
  let isClosed = false
  const empty = Promise.withResolvers<void>()

  function check() {
    if (isLeaving && beginning === 0 && open.size === 0) empty.resolve()
  }

  function close(id: string) {
    const found = open.get(id)
    open.delete(id)
    found?.body.destroy()
    check()
  }

  async function* bodyOf(id: string): AsyncGenerator<Buffer> {
    for (let piece = await control.call('body', { id }); piece !== null; piece = await control.call('body', { id }))
      yield Buffer.from(piece, 'base64')
  }

  const methods = {
    async begin({ id, request, hasBody }: Parameters<WorkerMethods<Request>['begin']>[0], signal: AbortSignal) {
      if (isLeaving) throw new Problem('GIT_UNAVAILABLE', 'The worker is about to end.')
      beginning += 1
      try {
        const { head, body } = await serve(request, { signal, ...(hasBody ? { body: bodyOf(id) } : {}) })
        if (signal.aborted || isClosed) body.destroy()
        else open.set(id, { next: piecesOf(body), body })
        return head
      } finally {
        beginning -= 1
        check()
      }
    },
    async read({ id }: { id: string }) {
      const found = open.get(id)
      if (!found) throw new Error('there is no such answer')
      const piece = await found.next().catch((error) => {
        close(id)
        throw error
      })
      if (piece === null) close(id)
      return piece
    },
    leave: ({ id }: { id: string }) => close(id),
  }
  const control = createCaller<ControlMethods>(peer, methods, SENT_PROBLEMS)
  peer.closed.then(() => {
    isClosed = true
    for (const id of [...open.keys()]) close(id)
  })

  return {
    /** Resolves when all that was begun is answered. */
    leave() {
      isLeaving = true
      control.notify('leaving', {})
      check()
      return Promise.race([empty.promise, peer.closed])
    },
  }
}
