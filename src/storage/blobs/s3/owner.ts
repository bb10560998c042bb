/**
 * A prefix belongs to one service: garbage collection removes what the service does not know. So its id is written there once,
 * and nothing is listed or removed below a prefix with another id.
 */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { StorageUnavailable } from '../../sql/sql.ts'
import type { Objects } from './objects.ts'

const NAME = 'owner'

/** The check is made once, and again if it failed: the store may have been away. */
export function createOwnership(objects: Objects, owner: string) {
  let checking: Promise<void> | undefined

  async function read(): Promise<string | undefined> {
    const found = await objects.get(NAME)
    return found && (await text(Readable.from(found.bytes)))
  }

  async function check() {
    if ((await read()) === undefined) await objects.put(NAME, Buffer.from(owner), { isOnce: true })
    const found = await read()
    if (found !== owner)
      throw new StorageUnavailable(
        `The prefix of the setting objectStore belongs to another service, whose master key is ${found?.slice(0, 80)}. Choose another prefix; if that service is gone for good, delete the object ${NAME} there.`,
      )
  }

  return (): Promise<void> => {
    checking ??= check().catch((error) => {
      checking = undefined
      throw error
    })
    return checking
  }
}
