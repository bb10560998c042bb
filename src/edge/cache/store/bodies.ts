/** The bodies of stored responses, in memory or on the disk, and how they are sent to a client. */
import type { ReadVisit } from '../../http/visit.ts'
import type { Disk } from '../disk/index.ts'
import type { LargeBody } from '../fetch.ts'
import { type Remark, sendLarge, sendStored } from '../reply.ts'
import { type StoredResponse, toMeta } from './object.ts'
import type { Partition } from './partition.ts'
import { compressed, missingEncoding } from './representation.ts'
import type { Store } from './store.ts'

type Parts = { store: Store; disk(): Disk | undefined; report(error: unknown): void }

/** The request that is answered, and the partition that the response comes from. */
type Destination = { partition: Partition; visit: ReadVisit }

type LargeParts = {
  grew(bytes: number): void
  /** The body is complete. */
  finish(): StoredResponse
  keep(stored: StoredResponse): boolean
}

/** Encodings that are made at a time. They use the threads that read files as well, and half of those stay free. */
const MAX_MAKING = 2

export function createBodies({ store, disk, report }: Parts) {
  /** The environments for which an encoding is being made: each has one at a time. */
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
    /** `onGone` is called when the body has disappeared from the disk. */
    send({ partition, visit }: Destination, stored: StoredResponse, remark: Remark, onGone: () => void) {
      const { request, response } = visit
      const body = stored.body
      if (body) {
        sendStored(visit, stored, body, remark)
        // From the second request on: most stored responses are never requested again.
        if (stored.hits > 0) compress(partition, stored, body, request.headers['accept-encoding'] as string | undefined)
        return
      }
      const { place } = stored
      if (place?.large !== undefined) {
        return sendLarge(visit, stored, remark, {
          open: (start, end) => disk()?.openLargePart(place, start, end),
          onGone,
        })
      }
      load(partition, stored)
        .then((loaded) => {
          if (response.destroyed) return
          if (loaded) return sendStored(visit, stored, loaded, remark)
          store.remove(partition, stored)
          onGone()
        })
        .catch((error) => {
          report(error)
          response.destroy()
        })
    },

    /** Undefined for a body that is too large for memory, or is gone. */
    async read({ body, place }: StoredResponse): Promise<Buffer | undefined> {
      return body ?? (place && place.large === undefined ? disk()?.read(place) : undefined)
    },

    /** Whether the body can still be sent. */
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
