/**
 * An edge's side of its connection to the files process of its machine, which brings the files of static sites. For an output:
 *
 *   wanted     a request waits for its files, or the deployment before stands in; asked for, and again with each connection
 *   here       hosts lead to them; the files process keeps them
 *   failed     visitors are told to come back; after a pause, which grows, the next request wants it again
 *   (unused)   no host leads there any more: the files process may remove them
 *
 * The same for the index of files that earlier deployments left, once the live output is here; no request waits for it.
 */
import {
  type Caller,
  ConnectionLost,
  createCaller,
  type Frame,
  followPeer,
  type Greeting,
} from '../../channel/index.ts'
import { doing } from '../../watchdog/index.ts'
import type { RouteTable } from '../route-table.ts'
import type { FilesReport, StoredOutput } from '../routes.ts'
import type { EdgeServer } from '../server.ts'
import type { Succession } from '../static/site-files.ts'
import type { FilesMethodsForEdge } from './messages.ts'

type Parts = {
  path: string
  greeting: Greeting
  edge: Pick<EdgeServer, 'changeRoutes'>
  table: RouteTable
  standInMs?: number
  pausesMs?: { first: number; max: number }
}

/** How long the deployment before may stand in. The control process waits a little longer for the confirmation of routes. */
const STAND_IN_MS = 8000
const PAUSES_MS = { first: 1000, max: 30_000 }

export function followFiles(parts: Parts) {
  const { path, greeting, edge, table, standInMs = STAND_IN_MS, pausesMs = PAUSES_MS } = parts
  let files: Caller<FilesMethodsForEdge> | undefined
  const wanted = new Map<string, StoredOutput>()
  const wantedIndexes = new Map<string, Succession>()
  const failures = new Map<string, number>()
  /** By environment, from the first route whose files were missing. */
  const standIns = new Map<string, PromiseWithResolvers<void>>()

  function set(digest: string, report: FilesReport | undefined) {
    edge.changeRoutes(table.setFiles(digest, report))
    endStandIns()
    forgetUnused()
    if (report?.state === 'here') for (const environment of table.files.usersOf(digest)) wantEarlier(environment)
  }

  function want(output: StoredOutput) {
    const { digest } = output
    if (wanted.has(digest) || table.files.find(digest)) return
    wanted.set(digest, output)
    if (files) void ask(files, output)
  }

  async function ask(connection: Caller<FilesMethodsForEdge>, output: StoredOutput) {
    const { digest } = output
    try {
      const found = await connection.call('ensure', output)
      doing('files')
      // Before the new deployment answers, so that open pages miss nothing in between. Outputs that are not here are not waited for.
      await Promise.all(table.files.earlierOf(digest).map((one) => askEarlier(connection, one, { mayFetch: false })))
      wanted.delete(digest)
      failures.delete(digest)
      if (table.files.isUsed(digest)) set(digest, { state: 'here', ...found })
      else connection.notify('release', [digest])
    } catch (error) {
      // It is asked for again with the next connection.
      if (error instanceof ConnectionLost) return
      wanted.delete(digest)
      failed(digest)
    }
  }

  function wantEarlier(environment: string) {
    const missing = table.files.missingEarlier(environment)
    if (!missing || wantedIndexes.has(missing.earlier.digest)) return
    wantedIndexes.set(missing.earlier.digest, missing)
    if (files) void fetchEarlier(files, missing)
  }

  async function fetchEarlier(connection: Caller<FilesMethodsForEdge>, succession: Succession) {
    const { digest } = succession.earlier
    const outcome = await askEarlier(connection, succession, { mayFetch: true })
    // It is asked for again with the next connection.
    if (outcome === 'lost') return
    wantedIndexes.delete(digest)
    if (outcome === 'failed') failed(digest)
    else failures.delete(digest)
  }

  async function askEarlier(
    connection: Caller<FilesMethodsForEdge>,
    { live, earlier }: Succession,
    { mayFetch }: { mayFetch: boolean },
  ): Promise<'settled' | 'failed' | 'lost'> {
    const { digest } = earlier
    try {
      const index = await connection.call('ensureEarlier', { ...earlier, live, mayFetch })
      if (index === null) return 'settled'
      if (table.files.isUsed(digest)) set(digest, { state: 'here', folder: '', manifest: index })
      else connection.notify('release', [digest])
      return 'settled'
    } catch (error) {
      return error instanceof ConnectionLost ? 'lost' : 'failed'
    }
  }

  function failed(digest: string) {
    if (!table.files.isUsed(digest)) return
    const count = failures.get(digest) ?? 0
    failures.set(digest, count + 1)
    set(digest, { state: 'failed' })
    const pauseMs = Math.min(pausesMs.max, pausesMs.first * 2 ** Math.min(count, 16))
    setTimeout(() => {
      if (table.files.find(digest)?.state !== 'failed') return
      set(digest, undefined)
      for (const environment of standIns.keys()) wantFor(environment)
      for (const environment of table.files.usersOf(digest)) wantEarlier(environment)
    }, pauseMs).unref()
  }

  function wantFor(environment: string) {
    const output = table.standsInFor(environment)
    if (output) want(output)
  }

  function endStandIns() {
    for (const [environment, { resolve }] of standIns) {
      if (table.standsInFor(environment)) continue
      standIns.delete(environment)
      resolve()
    }
  }

  function standIn(environment: string): PromiseWithResolvers<void> {
    const begun = Promise.withResolvers<void>()
    // A later route of the environment does not begin it anew: the first one is not confirmed before it ends.
    const timer = setTimeout(() => {
      edge.changeRoutes(table.endStandIn(environment))
      endStandIns()
      forgetUnused()
    }, standInMs)
    timer.unref()
    begun.promise.then(() => clearTimeout(timer))
    standIns.set(environment, begun)
    return begun
  }

  function forgetUnused() {
    const unused = table.files.takeUnused()
    if (unused.length === 0) return
    for (const digest of unused) failures.delete(digest)
    files?.notify('release', unused)
  }

  const following = followPeer<Frame, Frame>({
    addresses: [path],
    greeting,
    async onPeer(peer) {
      const opened = createCaller<FilesMethodsForEdge>(peer)
      files = opened
      const checked = opened.call('using', table.files.here())
      for (const output of wanted.values()) void ask(opened, output)
      for (const succession of wantedIndexes.values()) void fetchEarlier(opened, succession)
      checked.then(
        (missing) => {
          for (const digest of missing) {
            const users = table.files.usersOf(digest)
            set(digest, undefined)
            for (const environment of users) wantEarlier(environment)
          }
        },
        // The next connection asks again.
        () => undefined,
      )
      await opened.closed
      if (files === opened) files = undefined
    },
  })

  return {
    /** A request waits for these files. */
    want,

    /**
     * Resolves when the routes of these environments are in use: their files are there, or requests wait for them. Undefined where
     * they are already.
     */
    untilUsed(environments: readonly string[]): Promise<unknown> | undefined {
      forgetUnused()
      endStandIns()
      const waiting: Promise<void>[] = []
      for (const environment of environments) {
        wantEarlier(environment)
        if (!table.standsInFor(environment)) continue
        waiting.push((standIns.get(environment) ?? standIn(environment)).promise)
        wantFor(environment)
      }
      return waiting.length > 0 ? Promise.all(waiting) : undefined
    },

    stop: following.stop,
  }
}

export type FollowedFiles = ReturnType<typeof followFiles>
