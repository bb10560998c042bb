/**
 * Writes a backup to a file, readable by its owner alone: to a draft, which is synced before it gets its name. A name
 * that ends in `.zst` means compression. A failure leaves no partial file.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createZstdCompress } from 'node:zlib'
import { absent } from '../../base/index.ts'
import { BackupRefused } from '../entry.ts'

export type Written = { bytes: number; digest: string }

type Options = {
  draft: string
  isForced: boolean
  /** Receives each piece of the source after it was written. */
  giveBack?: ((piece: Buffer) => void) | undefined
}

export const isCompressed = (file: string): boolean => file.endsWith('.zst')

export async function refuseExisting(file: string) {
  const found = await lstat(file).catch(absent)
  if (found) throw new BackupRefused(`${file} exists. Choose another name, or replace it with --force.`)
}

export async function writeBackup(
  source: AsyncIterable<Buffer>,
  file: string,
  { draft, isForced, giveBack }: Options,
): Promise<Written> {
  if (!isForced) await refuseExisting(file)
  const handle = await open(draft, 'wx', 0o600).catch((error) => {
    throw new BackupRefused(`${file} cannot be written: ${error.message}`, { cause: error })
  })
  try {
    const written = { bytes: 0, digest: '' }
    const hash = createHash('sha256')
    const isPlain = !isCompressed(file)
    for await (const piece of isPlain ? source : compressed(source)) {
      hash.update(piece)
      written.bytes += piece.byteLength
      await writeAll(handle, piece)
      if (isPlain) giveBack?.(piece)
    }
    await handle.sync()
    await handle.close()
    if (!isForced) await refuseExisting(file)
    await rename(draft, file)
    await syncFolder(dirname(file))
    return { ...written, digest: `sha256:${hash.digest('hex')}` }
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(draft, { force: true })
    throw error
  }
}

/** A nearly full disk may write only a part. */
async function writeAll(handle: FileHandle, piece: Buffer) {
  for (let from = 0; from < piece.byteLength; ) from += (await handle.write(piece, from)).bytesWritten
}

/** Node's default is 16 KiB, and each piece takes a turn of the event loop. */
const PIECE_BYTES = 1024 * 1024

function compressed(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // Errors of the source reach the reader of the stream.
  return pipeline(Readable.from(source), createZstdCompress({ chunkSize: PIECE_BYTES }), () => undefined)
}

export async function syncFolder(path: string) {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}
