/** A CMS with one text, which has a number that rises with each change. Builds and apps reach it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from '../folder.ts'
import { addAddress } from './wordpress.ts'

export type Cms = {
  url: string
  /** As the service's setting takes it. */
  network: string
  /** It answers every call with an error. */
  isDown: boolean
  number(): number
  /** Changes the text; resolves to its number. */
  write(): number
  /** From now on responses are prepared, but sent only after `release`. */
  holdAnswers(): { isAsked: Promise<void>; release: () => void }
  /** Resolves when a build has read the current text. */
  readByBuild(): Promise<void>
}

export async function startCms(t: Scope): Promise<Cms> {
  let number = 1
  let readers: (() => void)[] = []
  let held: { asked: () => void; released: Promise<void> } | undefined
  const server = createServer(async (request, response) => {
    if (cms.isDown) return response.writeHead(503).end()
    const text = `text-${number}-end`
    held?.asked()
    await held?.released
    response.end(text, () => {
      if (!request.url?.includes('by=build')) return
      for (const read of readers) read()
      readers = []
    })
  })
  const address = await addAddress(t)
  server.listen(0, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const cms: Cms = {
    url: `http://${address}:${port}`,
    network: `${address}:${port}`,
    isDown: false,
    number: () => number,
    write: () => ++number,
    holdAnswers() {
      const asked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      held = { asked: asked.resolve, released: released.promise }
      const release = () => {
        held = undefined
        released.resolve()
      }
      return { isAsked: asked.promise, release }
    },
    readByBuild: () => new Promise((resolve) => readers.push(resolve)),
  }
  return cms
}
