/** Creates a zip in a worker, so that the page stays responsive. Each worker makes one zip. */
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate'
import { isPacked } from './choose.ts'
import type { Chosen } from './select.ts'

export type ToZip = { kind: 'files'; files: Chosen[] } | { kind: 'zip' }

export type FromZip =
  | { kind: 'progress'; bytes: number }
  | { kind: 'done'; zip: Blob }
  | { kind: 'failed'; message: string }

const say = (message: FromZip) => postMessage(message)

const files: Chosen[] = []

addEventListener('message', async ({ data }: MessageEvent<ToZip>) => {
  if (data.kind === 'files') return void files.push(...data.files)
  try {
    say({ kind: 'done', zip: await zipOf(files) })
  } catch (error) {
    say({ kind: 'failed', message: (error as Error).message })
  }
})

/** Above this size, chunks are passed to the browser as a blob, which it may store on the disk. */
const MAX_HELD_BYTES = 16 * 1024 * 1024

async function zipOf(all: readonly Chosen[]): Promise<Blob> {
  const blobs: Blob[] = []
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let heldBytes = 0
  let fault: Error | undefined
  const zip = new Zip((error, piece) => {
    if (error) fault = error
    else pieces.push(piece as Uint8Array<ArrayBuffer>)
    heldBytes += piece?.length ?? 0
    if (heldBytes > MAX_HELD_BYTES) release()
  })
  function release() {
    blobs.push(new Blob(pieces))
    pieces = []
    heldBytes = 0
  }
  let bytes = 0
  for (const { path, file } of all) {
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
  release()
  return new Blob(blobs, { type: 'application/zip' })
}
