/**
 * A folder of an app as one compressed archive, for the object store. It is unpacked by the rules for layers: nothing is written
 * through a link or outside of the new folder, and no more than the limits allow.
 */
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { contentsOf } from './folder.ts'
import { tarOf } from './pack.ts'
import { type LayerLimits, type UnpackOptions, unpackLayer } from './unpack.ts'

/** What all names in the archive begin with. */
const AT = 'folder'
/** As for layers: a third of the time of the usual one. */
const LEVEL = 1

/** Links are not followed. What is in `writable` will belong to the app's user, the rest to the service. */
export function packFolder(
  folder: string,
  { writable, signal }: { writable: readonly string[]; signal: AbortSignal },
): AsyncIterable<Buffer> {
  const tar = Readable.from(tarOf(contentsOf(folder, { at: AT, writable })), { objectMode: false, signal })
  // Errors reach the reader through the last stream of the pipeline.
  return pipeline(tar, createGzip({ level: LEVEL }), () => undefined)
}

/** Into a folder that does not exist yet and that only the service reaches. Returns the size of the content. */
export const unpackFolder = (
  file: string,
  folder: string,
  options: Pick<UnpackOptions, 'limits' | 'user' | 'signal'>,
): Promise<LayerLimits> => unpackLayer(file, folder, { ...options, at: AT, time: Date.now() })
