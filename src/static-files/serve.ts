/** How edges reach the files process: what one uses is known by its connection, and ends with it. */
import type { Log } from '../base/index.ts'
import { type CallPeer, createCaller, type Frame, type Greeting, listenToPeers } from '../channel/index.ts'
import type { FilesMethodsForEdge } from '../edge/index.ts'
import type { SiteStore } from './store.ts'

type Parts = {
  /** Of the Unix socket. */
  path: string
  greeting: Greeting
  log: Log
  store: Pick<SiteStore, 'ensure' | 'ensureEarlier' | 'has' | 'use' | 'release'>
}

export function serveSiteFiles({ path, greeting, log, store }: Parts) {
  function connect(peer: CallPeer) {
    const used = new Set<string>()

    function use(digest: string) {
      if (used.has(digest)) return
      store.use(digest)
      used.add(digest)
    }
    function release(digest: string) {
      if (used.delete(digest)) store.release(digest)
    }

    const methods: FilesMethodsForEdge = {
      async ensure(output) {
        // First, so that it is not removed meanwhile.
        use(output.digest)
        try {
          return await store.ensure(output)
        } catch (error) {
          release(output.digest)
          throw error
        }
      },
      async ensureEarlier(wanted) {
        // The index has links to their files, so they are needed while it is made.
        const held = [wanted.digest, wanted.live.digest, ...wanted.outputs.map(({ digest }) => digest)]
        for (const digest of held) store.use(digest)
        try {
          const index = await store.ensureEarlier(wanted)
          if (index !== null) use(wanted.digest)
          return index
        } finally {
          for (const digest of held) store.release(digest)
        }
      },
      async using(digests) {
        const missing: string[] = []
        for (const digest of digests) {
          use(digest)
          if (await store.has(digest)) continue
          release(digest)
          missing.push(digest)
        }
        return missing
      },
      release(digests) {
        for (const digest of digests) release(digest)
      },
    }
    createCaller(peer, methods)
    peer.closed.then(() => {
      for (const digest of [...used]) release(digest)
    })
  }

  return listenToPeers<Frame, Frame>({
    address: path,
    greeting,
    onPeer: connect,
    onRefused: (error) => log.warn({ err: error }, 'an edge could not connect to the files process'),
  })
}
