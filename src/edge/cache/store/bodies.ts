/** Where the bodies of stored responses are, in memory or on the disk, and how they get to a reader from there. */
import type { Visit } from '../../http/visit.ts'
import type { Disk } from '../disk/index.ts'
import type { LargeBody } from '../fetches.ts'
import { type Remark, sendLarge, sendStored } from '../reply.ts'
import { type StoredResponse, toMeta } from './object.ts'
import { compressed, missingEncoding } from './representation.ts'
import type { Partition, Store } from './store.ts'

type Parts = { store: Store; disk(): Disk | undefined; report(error: unknown): void }

type LargeParts = {
  grew(bytes: number): void
  /** The whole has come. */
  finish(): StoredResponse
  keep(stored: StoredResponse): boolean
}

/** Forms that are made at a time, in threads that files are read in as well: half of them stay free for that. */
const MAX_MAKING = 2

export function createBodies({ store, disk, report }: Parts) {
  /** The environments for which a form is being made: one for each at a time, whoever wants it. */
  const making = new Set<Partition>()

  /** Undefined: it is gone. */
  async function load(partition: Partition, stored: StoredResponse): Promise<Buffer | undefined> {
    const body = stored.place && (await disk()?.read(stored.place))
    if (body && !stored.body) {
      store.change(partition, stored, () => {
        stored.body = body
      })
    }
    return body
  }

  function compress(partition: Partition, stored: StoredResponse, body: Buffer, acceptEncoding: string | undefined) {
    const encoding = missingEncoding(stored, acceptEncoding)
    if (encoding === undefined || making.has(partition) || making.size >= MAX_MAKING) return
    making.add(partition)
    compressed(body, encoding)
      .then((made) =>
        store.change(partition, stored, () => {
          stored[encoding] = made
        }),
      )
      .catch(report)
      .finally(() => making.delete(partition))
  }

  return {
    /** `onGone` is called where there is nothing to send any more. */
    send(
      partition: Partition,
      { request, response }: Visit,
      stored: StoredResponse,
      remark: Remark,
      onGone: () => void,
    ) {
      const question = { method: request.method ?? 'GET', headers: request.headers }
      const body = stored.body
      if (body) {
        sendStored(response, question, stored, body, remark)
        // By the second reader: most of what is stored is never asked for again.
        if (stored.hits > 0) compress(partition, stored, body, request.headers['accept-encoding'] as string | undefined)
        return
      }
      const { place } = stored
      if (place?.large !== undefined) {
        return sendLarge(
          response,
          question,
          stored,
          remark,
          (start, end) => disk()?.readLarge(place, start, end),
          onGone,
        )
      }
      load(partition, stored)
        .then((loaded) => {
          if (response.destroyed) return
          if (loaded) return sendStored(response, question, stored, loaded, remark)
          store.remove(partition, stored)
          onGone()
        })
        .catch((error) => {
          report(error)
          response.destroy()
        })
    },

    /** Where it can be had as a whole. */
    async read({ body, place }: StoredResponse): Promise<Buffer | undefined> {
      return body ?? (place && place.large === undefined ? disk()?.read(place) : undefined)
    },

    /** Whether there is still something to send. */
    isThere: ({ body, place }: StoredResponse): boolean =>
      body !== undefined || (place !== undefined && (disk()?.isThere(place) ?? false)),

    write(environment: string, stored: StoredResponse, body: Buffer) {
      stored.place = disk()?.put(toMeta(environment, stored), body)
    },

    openLarge(environment: string, { grew, finish, keep }: LargeParts): LargeBody | undefined {
      const writer = disk()?.openLarge()
      if (!writer) return undefined
      const large: LargeBody = {
        onDrain: () => undefined,
        write(chunk) {
          grew(chunk.length)
          const isKept = writer.write(chunk)
          if (typeof isKept === 'boolean') return true
          isKept.then(() => large.onDrain()).catch(report)
          return false
        },
        finish() {
          const stored = finish()
          writer
            .finish(toMeta(environment, stored))
            .then((place) => {
              if (!place) return
              stored.place = place
              if (!keep(stored)) disk()?.forget(place)
            })
            .catch(report)
        },
        abort: () => writer.abort(),
      }
      return large
    },
  }
}

export type Bodies = ReturnType<typeof createBodies>
