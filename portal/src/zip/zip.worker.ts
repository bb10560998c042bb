/** Makes a zip of files, away from the page so that it stays quick. One at a time: the next is asked of a new worker. */
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate'
import { isPacked } from './choose.ts'
import type { Chosen } from './read-drop.ts'

export type FromWorker =
  | { kind: 'progress'; bytes: number }
  | { kind: 'done'; zip: Blob }
  | { kind: 'failed'; message: string }

const say = (message: FromWorker) => postMessage(message)

addEventListener('message', async ({ data }: MessageEvent<Chosen[]>) => {
  try {
    say({ kind: 'done', zip: await zipOf(data) })
  } catch (error) {
    say({ kind: 'failed', message: (error as Error).message })
  }
})

async function zipOf(files: readonly Chosen[]): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let fault: Error | undefined
  const zip = new Zip((error, piece) => {
    if (error) fault = error
    else pieces.push(piece as Uint8Array<ArrayBuffer>)
  })
  let bytes = 0
  for (const { path, file } of files) {
    const entry = isPacked(path) ? new ZipPassThrough(path) : new ZipDeflate(path, { level: 6 })
    zip.add(entry)
    const reader = file.stream().getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      entry.push(value)
      bytes += value.length
      say({ kind: 'progress', bytes })
      if (fault) throw fault
    }
    entry.push(new Uint8Array(0), true)
  }
  zip.end()
  if (fault) throw fault
  return new Blob(pieces, { type: 'application/zip' })
}
