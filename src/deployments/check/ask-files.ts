/** Looks a page up in the files of a static site, with the code that the edge answers visitors with. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Outputs } from '../../builds/index.ts'
import { contentTypeOf, lookUpOnce, MANIFEST_NAME } from '../../edge/index.ts'
import type { Digest } from '../../storage/index.ts'
import { type Answer, type Ask, locationOf } from './answer.ts'
import { MAX_BODY_BYTES, mediaType } from './ask-app.ts'
import { isHtml } from './compare.ts'

type Parts = {
  outputs: Pick<Outputs, 'edgeFolderOf' | 'filesOf'>
  output: Digest
  hosts: ReadonlySet<string>
}

export function askFiles({ outputs, output, hosts }: Parts): Ask {
  const manifest = join(outputs.edgeFolderOf(output), MANIFEST_NAME)

  async function textOf(path: string): Promise<string> {
    await using file = await open(join(outputs.filesOf(output), path))
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BODY_BYTES), 0, MAX_BODY_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  }

  return async (path, { signal, isHead = false, keepsText = false }) => {
    signal.throwIfAborted()
    const began = performance.now()
    const [bare = '', query] = path.split('?', 2)
    const found = await lookUpOnce(manifest, { path: bare, ...(query === undefined ? {} : { query }) })
    const answer = (status: number, more: Partial<Answer> = {}): Answer => ({
      status,
      contentType: undefined,
      location: undefined,
      bytes: 0,
      end: 'WHOLE',
      problem: undefined,
      text: undefined,
      ...more,
      milliseconds: performance.now() - began,
    })
    switch (found.kind) {
      case 'file': {
        const contentType = mediaType(contentTypeOf(found.path).type)
        const isRead = !isHead && (keepsText || isHtml({ contentType }))
        const text = isRead ? await textOf(found.path) : undefined
        return answer(found.status, { contentType, bytes: found.file.size, text })
      }
      case 'redirect':
        return answer(found.status, { location: locationOf(found.location, path, hosts) })
      case 'proxy':
        return undefined
      case 'missing':
        return answer(404)
      case 'malformed':
        return answer(400)
    }
  }
}
